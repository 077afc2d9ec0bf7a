"""Product of small matrices, term by term."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

from mindspore import ops

from ..raw import Raw
from ..table import COMPLEX, FLOATS, VIA_HALF, define

_mul = ops.Mul()
_add = ops.Add()


@lru_cache(256)
def _split(axis: int, count: int) -> Any:
    return ops.Split(axis, count)


def composed_small_matmul(a: Raw, b: Raw) -> Raw:
    """Multiply (…, n, m) × (…, m, p), m > 0, rounding each product and adding in order."""
    count = a.shape[-1]
    if count == 1:
        return _mul(a, b)
    columns, rows = _split(-1, count)(a), _split(-2, count)(b)
    total = _mul(columns[0], rows[0])
    for column, row in zip(columns[1:], rows[1:]):
        total = _add(total, _mul(column, row))
    return total


define("small_matmul", cpu=composed_small_matmul, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
