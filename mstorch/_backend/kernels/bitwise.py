"""Kernels of bits, greatest common divisor."""

from __future__ import annotations

import numpy as np
from mindspore import mint, ops

from ..raw import MS_DTYPE, Raw, from_numpy
from ..table import INTS, VIA_BOOL, define
from ._nodes import prim_not, through_numpy

_invert = ops.Invert()
_left = ops.LeftShift()
_right = ops.RightShift()
_BOOL = MS_DTYPE["bool"]


def ops_bitwise_not(raw: Raw) -> Raw:
    return prim_not(raw) if raw.dtype == _BOOL else _invert(raw)


def _counted(first: Raw, second: Raw) -> tuple[Raw, Raw | None]:
    """Shift counts within the width, and where they were not: there C is undefined, and torch has fixed results."""
    counts = second.asnumpy()
    bits = counts.dtype.itemsize * 8
    wrong = (counts < 0) | (counts >= bits)
    return from_numpy(np.where(wrong, 0, counts).astype(counts.dtype)), from_numpy(wrong) if wrong.any() else None


_select = ops.Select()


def composed_left_shift(first: Raw, second: Raw) -> Raw:
    counts, wrong = _counted(first, second)
    result = _left(first, counts)
    return result if wrong is None else _select(wrong, from_numpy(np.zeros((), first.asnumpy().dtype)), result)


def composed_right_shift(first: Raw, second: Raw) -> Raw:
    counts, wrong = _counted(first, second)
    result = _right(first, counts)
    if wrong is None:
        return result
    values = first.asnumpy()
    return _select(wrong, from_numpy(np.asarray(np.where(values < 0, -1, 0), values.dtype)), result)


for _op, _primitive in (
    ("bitwise_and", ops.BitwiseAnd()), ("bitwise_or", ops.BitwiseOr()), ("bitwise_xor", ops.BitwiseXor()),
):  # fmt: skip
    define(_op, cpu=_primitive, dtypes=INTS + ("bool", "uint16"))
define("bitwise_not", cpu=ops_bitwise_not, dtypes=INTS + ("bool",))
define(
    "bitwise_left_shift",
    cpu=composed_left_shift,
    dtypes=INTS,
    ascend=mint.bitwise_left_shift if hasattr(mint, "bitwise_left_shift") else None,
)
define(
    "bitwise_right_shift",
    cpu=composed_right_shift,
    dtypes=INTS,
    ascend=mint.bitwise_right_shift if hasattr(mint, "bitwise_right_shift") else None,
)
define(
    "gcd", cpu=through_numpy(np.gcd), dtypes=INTS, via=VIA_BOOL, ascend=ops.gcd,
    numpy_reason="MindSpore's Gcd is wrong for negative numbers and lacks the small integers (2.10)",
)  # fmt: skip
