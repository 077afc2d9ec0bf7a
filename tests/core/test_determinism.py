"""``use_deterministic_algorithms``: the operations that raise, and the values of uninitialized memory."""
from __future__ import annotations

import warnings

import pytest


@pytest.fixture(autouse=True)
def switched_off(both):
    yield
    both(lambda torch: torch.use_deterministic_algorithms(False))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64", "uint8"])
def test_new_memory_is_filled(both, dtype):
    def body(torch):
        torch.use_deterministic_algorithms(True)
        kind = getattr(torch, dtype)
        ones = torch.ones(2, dtype=kind)
        made = [torch.empty(2, dtype=kind), torch.empty_like(ones), ones.new_empty((2, 1)), torch.empty_strided((2, 2), (3, 1), dtype=kind)]
        made += [ones.resize_(4), torch.empty_permuted((2, 3), (1, 0), dtype=kind)]
        return [m.isnan() if m.is_complex() else m for m in made]

    both(body)


def test_the_switch_of_filling(both):
    def body(torch):
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        off = torch.utils.deterministic.fill_uninitialized_memory
        torch.utils.deterministic.fill_uninitialized_memory = True
        found = off, torch.utils.deterministic.fill_uninitialized_memory
        torch.utils.deterministic.fill_uninitialized_memory = 1
        return found

    both(body)


@pytest.mark.parametrize("name", ["put_", "max_unpool1d", "max_unpool2d", "max_unpool3d"])
@pytest.mark.parametrize("warn_only", [False, True])
def test_refusals(both, name, warn_only):
    def body(torch):
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if name == "put_":
                found = torch.zeros(3).put_(torch.tensor([1]), torch.ones(1)), torch.zeros(3).put(torch.tensor([1]), torch.ones(1), True)
            else:
                places = torch.zeros((1, 1) + (2,) * int(name[-2]), dtype=torch.int64)
                found = getattr(torch.nn.functional, name)(places.float(), places, 2)
        return found, [str(item.message).partition(" (Triggered")[0] for item in caught]

    both(body)
