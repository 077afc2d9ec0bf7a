"""The product of small matrices, term by term."""
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
    """(…, n, m) × (…, m, p), m > 0: the products are rounded and added in order.

    These are the bits that torch's own products of small matrices have; oneDNN fuses multiplication and addition, which
    shows where large terms cancel, as in the exponential of a matrix.
    """
    count = a.shape[-1]
    if count == 1:
        return _mul(a, b)
    columns, rows = _split(-1, count)(a), _split(-2, count)(b)
    total = _mul(columns[0], rows[0])
    for column, row in zip(columns[1:], rows[1:]):
        total = _add(total, _mul(column, row))
    return total


define("small_matmul", cpu=composed_small_matmul, dtypes=FLOATS + COMPLEX, via=VIA_HALF)
