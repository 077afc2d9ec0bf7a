"""Sums inside operations on small integers, and on bool, use the dtype that torch uses."""
from __future__ import annotations

import pytest

CALLS = {
    "addbmm": lambda t, x: t.addbmm(x[0], x, x),
    "tensordot": lambda t, x: t.tensordot(x[:, :1], x, dims=([1], [1])),
    "bilinear": lambda t, x: t.nn.functional.bilinear(x[0], x[1], x, x[0, 0, :2]),
    "sum_to_size": lambda t, x: (x.sum_to_size(2, 1, 2), x.sum_to_size(2, 2, 2), x[0, 0, 0].sum_to_size(()), x.sum_to_size(1)),
    "unravel_index": lambda t, x: t.unravel_index(x, (40, 40)),
    "masked": lambda t, x: (t.masked.cumsum(x, 1), t.masked.cumprod(x, 1, mask=x > 3), t.masked.sum(x, 1)),
    "unfold": lambda t, x: t.nn.functional.unfold(x[None], 2),
    "fold": lambda t, x: t.nn.functional.fold(x.reshape(1, 4, 2), (2, 3), 2),
    "linear": lambda t, x: t.nn.functional.linear(x, x[0], x[0, 0]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_dtypes(name, dtype, both):
    both(lambda t: CALLS[name](t, (t.arange(8) * 3).reshape(2, 2, 2).to(getattr(t, dtype))))


@pytest.mark.parametrize("name", ["tensordot", "sum_to_size", "unravel_index", "masked", "unfold", "fold", "linear"])
def test_bool(name, both):
    both(lambda t: CALLS[name](t, t.tensor([True, False, False, True, True, False, True, True]).reshape(2, 2, 2)))
