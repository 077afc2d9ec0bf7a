"""Sizes whose number of elements or bytes exceeds 63 bits: torch's errors, before any memory is asked for."""
from __future__ import annotations

import pytest

import mstorch

HUGE = 2**62


def _wide(torch):
    return torch.ones(1).expand(2**31, 2**31)


CALLS = {
    "resize_": lambda torch: torch.empty(0).resize_([2, 4, 2**29, 2**29]), "resize_ beyond numbers": lambda torch: torch.empty(0).resize_([8, 8, 2**29, 2**29]),
    "resize_ of one": lambda torch: torch.empty(0).resize_([HUGE]), "resize_as_": lambda torch: torch.empty(0).resize_as_(_wide(torch)),
    "expand": lambda torch: torch.ones(1).expand(8, 8, 2**29, 2**29), "broadcast_to": lambda torch: torch.ones(1).broadcast_to(8, 8, 2**29, 2**29),
    "expand on meta": lambda torch: torch.ones(1, device="meta").expand(8, 8, 2**29, 2**29),
    "meshgrid": lambda torch: torch.meshgrid(*[torch.ones(1).expand(2**30)] * 3, indexing="ij"),
    "broadcast_tensors": lambda torch: torch.broadcast_tensors(torch.ones(2**16, 1, 1), torch.ones(2**16, 1), torch.ones(1).expand(2**40)),
    "as_strided": lambda torch: torch.ones(1).as_strided((8, 8, 2**29, 2**29), (0, 0, 0, 0)),
    "number": lambda torch: _wide(torch) + 1, "sin": lambda torch: _wide(torch).sin(), "relu": lambda torch: torch.nn.functional.relu(_wide(torch)),
    "cumsum": lambda torch: _wide(torch).cumsum(0), "roll": lambda torch: _wide(torch).roll(1), "tril": lambda torch: _wide(torch).tril(),
    "contiguous": lambda torch: _wide(torch).contiguous(), "matmul": lambda torch: torch.ones(1).expand(2**31, 1) @ torch.ones(1).expand(1, 2**31),
    "on meta": lambda torch: torch.ones(1, device="meta").expand(2**31, 2**31) + 1, "linspace": lambda torch: torch.linspace(0, 1, HUGE),
    "rand": lambda torch: torch.rand(HUGE), "randn": lambda torch: torch.randn(2**31, 2**31), "randint": lambda torch: torch.randint(3, (HUGE,)),
    "normal": lambda torch: torch.normal(0.0, 1.0, (2**31, 2**31)), "hann_window": lambda torch: torch.hann_window(HUGE),
    "full": lambda torch: torch.full([HUGE], 1.0), "new_full": lambda torch: torch.ones(1).new_full((2**31, 2**31), 1), "Linear": lambda torch: torch.nn.Linear(2**31, 2**31),
    "index_select": lambda torch: torch.ones(1).index_select(0, torch.zeros(1, dtype=torch.int64).expand(HUGE)),
    "arange": lambda torch: torch.arange(HUGE), "arange of a float": lambda torch: torch.arange(float(HUGE)),
    "arange beyond integers": lambda torch: torch.arange(0, 1e300), "range": lambda torch: torch.range(0, HUGE),
    "gather": lambda torch: torch.ones(1).gather(0, torch.zeros(1, dtype=torch.int64).expand(HUGE)),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_sizes_beyond_63_bits(both, call):
    both(call)


def test_a_tensor_that_was_too_large_keeps_its_size():
    x = mstorch.ones(3)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        x.resize_([HUGE])
    assert x.tolist() == [1.0, 1.0, 1.0]
