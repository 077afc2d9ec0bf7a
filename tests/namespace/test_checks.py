"""torch._assert, torch._check and related functions."""
from __future__ import annotations

import pytest

from tests.against_torch import both

NAMES = ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("args", [
    (True,), (False,), (False, lambda: "why"), (False, lambda: 3), (False, "text"), (3,),
], ids=["true", "false", "a text's function", "a number's function", "a text", "a number"])  # fmt: skip
def test_check(name, args):
    both(lambda torch: getattr(torch, name)(*args))


def test_conditions_of_tensors():
    both(lambda torch: torch._check(torch.tensor(True)))
    both(lambda torch: torch._check_tensor_all(torch.tensor([True, False]), lambda: "t"))
    both(lambda torch: torch._check_tensor_all(torch.tensor([True, True])))
    both(lambda torch: torch._check_tensor_all(True))
    both(lambda torch: torch._check_tensor_all_with(KeyError, torch.tensor([False]), lambda: "q"))
    both(lambda torch: torch._check_is_size(-1))
    both(lambda torch: torch._check_is_size(3))
    both(lambda torch: torch._check_is_size(3, max=2))


def test_assertions():
    both(lambda torch: torch._assert(torch.tensor(False), "m"))
    both(lambda torch: torch._assert(True, "m"))
    both(lambda torch: torch._assert_async(torch.tensor(False)))
    both(lambda torch: torch._assert_async(torch.tensor(False), "mm"))
    both(lambda torch: torch._assert_async(torch.tensor(3)))
    both(lambda torch: torch._shape_as_tensor(torch.ones(2, 3)))
