"""The origin of an error is determined by the place that raised it, and its cause by an attribute, never by its text."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch as real_torch

import mstorch
from mstorch._src.backend.errors import NoKernel, about, not_for
from mstorch._src.core.naming import class_text
from mstorch._src.core.raised import foreign, in_a_library
from mstorch._src.core.size import Size


def _caught(function: Callable[[], object]) -> Exception:
    try:
        function()
    except Exception as error:  # noqa: BLE001 - whichever it is, it is looked at
        return error
    raise AssertionError("no error")


class _Odd:
    """A user's class whose own code raises."""

    def __index__(self) -> int:
        raise ValueError("odd")


@pytest.mark.parametrize(
    "function, wanted",
    [
        (lambda: np.broadcast_shapes((2,), (3,)), (True, True)),  # a statement of a library
        (lambda: class_text(3), (True, False)),  # an operation of Python's in a line of mstorch
        (lambda: mstorch.zeros(2).sum(5), (False, False)),  # a statement of mstorch
        (lambda: Size((1, _Odd())), (False, False)),  # a statement of the user
        (lambda: [][0], (False, False)),  # an operation in a line of the user
    ],
)
def test_who_raised_an_error(function: Callable[[], object], wanted: tuple[bool, bool]) -> None:
    error = _caught(function)
    assert (foreign(error), in_a_library(error)) == wanted, error


def test_errors_carry_what_they_are_about_and_are_of_torchs_classes() -> None:
    error = not_for("exp", "float8_e5m2")
    assert type(error) is NotImplementedError and about(error) == NoKernel("exp", "float8_e5m2") and about(ValueError()) is None
    again = pickle.loads(pickle.dumps(copy.copy(error)))
    assert type(again) is NotImplementedError and str(again) == str(error) == "\"exp\" not implemented for 'Float8_e5m2'"


@pytest.mark.parametrize(
    "call",
    [
        "torch.ones(4).to(torch.float8_e5m2).logit()", "torch.ones(2, 3).flip('a')", "torch.ones(2, 3).repeat('a')", "torch.ones(2).tile(2, 'a')",
        "torch.fft.fft('a')", "torch.ones(2).unflatten(0)", "torch.ones(2).norm(q=1)", "torch.ones(2).gather(0, None)", "torch.add(torch.ones(2), 'a')",
        "torch.nn.functional.linear(torch.ones(2, 3), torch.ones(7))", "torch.ones(2).masked_fill(torch.ones(2) > 0, 'a')",
        "torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), 'a')", "torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), stride=1.5)",
        "torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), 2, 'a')", "torch.tensordot(torch.ones(2), torch.ones(2), None)",
        "torch.nn.functional.max_unpool1d(torch.ones(1, 1, 1), torch.zeros(1, 1, 1, dtype=torch.int64), 'a')", "torch.sym_int('a')",
        "torch.ones(2, 3)[torch.ones(3) > 0]", "torch.ones(2, 3).__setitem__(torch.ones(3) > 0, 1)",
    ],
)
def test_errors_that_places_and_types_tell(call: str) -> None:
    found = [_caught(lambda torch=torch: eval(call, {"torch": torch})) for torch in (real_torch, mstorch)]
    assert type(found[0]) is type(found[1]), found
