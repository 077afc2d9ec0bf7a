"""Bitwise kernels, and gcd."""

from __future__ import annotations

import numpy as np
from mindspore import ops

from ..raw import MS_DTYPE, NAME_OF, NP_DTYPE, Raw
from ..table import INTS, VIA_BOOL, define
from ._nodes import constant, prim_add, prim_less, prim_not, prim_or, prim_select, through_numpy, zeros_like

_invert = ops.Invert()
_left = ops.LeftShift()
_right = ops.RightShift()
_BOOL = MS_DTYPE["bool"]


def ops_bitwise_not(raw: Raw) -> Raw:
    return prim_not(raw) if raw.dtype == _BOOL else _invert(raw)


def _counted(second: Raw) -> tuple[Raw, Raw]:
    """Return shift counts clipped to the bit width, and a mask of those out of range, for which shifts are undefined in C and defined in
    torch.
    """
    bits = NP_DTYPE[NAME_OF[second.dtype]].itemsize * 8
    outside = prim_or(prim_less(second, constant(0, second)), prim_not(prim_less(second, constant(bits, second))))
    return prim_select(outside, zeros_like(second), second), outside


def composed_left_shift(first: Raw, second: Raw) -> Raw:
    counts, outside = _counted(second)
    result = _left(first, counts)
    return prim_select(outside, zeros_like(result), result)


def composed_right_shift(first: Raw, second: Raw) -> Raw:
    counts, outside = _counted(second)
    result = _right(first, counts)
    negative = prim_less(first, constant(0, first))
    filled = prim_select(negative, prim_add(zeros_like(result), constant(-1, result)), zeros_like(result))
    return prim_select(outside, filled, result)


for _op, _primitive in (
    ("bitwise_and", ops.BitwiseAnd()), ("bitwise_or", ops.BitwiseOr()), ("bitwise_xor", ops.BitwiseXor()),
):  # fmt: skip
    define(_op, cpu=_primitive, dtypes=INTS + ("bool", "uint16"))
define("bitwise_not", cpu=ops_bitwise_not, dtypes=INTS + ("bool",))
define(
    "bitwise_left_shift",
    cpu=composed_left_shift,
    dtypes=INTS,
)
define(
    "bitwise_right_shift",
    cpu=composed_right_shift,
    dtypes=INTS,
)
define(
    "gcd", cpu=through_numpy(np.gcd), dtypes=INTS, via=VIA_BOOL,
    numpy_reason="MindSpore's Gcd is wrong for negative numbers and lacks the small integers (2.10)",
)  # fmt: skip
