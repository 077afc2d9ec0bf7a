"""Kernels that compute bfloat16 directly, by oneDNN or bit operations: one pass over memory instead of four by way of float32.

torch computes in float32 and rounds once, as oneDNN does, except that oneDNN's instruction flushes subnormal numbers to zero. If a result
contains zeros, the operands show whether a subnormal number may be among them; the result is then recomputed by way of float32.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array
from ..blocks import share
from ..halves import BFLOAT16, FLOAT16, has_zeros, smallest
from ..onednn import bfloat16 as library
from ..onednn.library import FOUND_HALVES
from ..table import define_direct
from ._ufunc import beside_number

_BITS = np.dtype(np.uint16)
_FEW = 1 << 9  # number of elements up to which float32 is faster
_BLOCK = 1 << 18  # number of elements that are computed and checked together: with fewer, the GIL changes threads more often
_SIGN, _INFINITE = 0x8000, 0x7F80

Step = Callable[..., None]


class _Tiny(Exception):
    """Raised if a zero in a result may be a number that the rounding instruction flushed to zero."""


def _in_parts(step: Step, nanoseconds: float, width: int, *arrays: Array) -> None:
    """Call ``step`` on parts of flat arrays that are whole rows of ``width``; long arrays are split into blocks and run on threads."""
    rows = arrays[0].size // width
    if rows * width <= _BLOCK:
        step(*arrays)
        return
    few = max(1, _BLOCK // width)

    def some(start: int, end: int) -> None:
        for first in range(start, end, few):
            last = min(first + few, end)
            step(*[array[first * width : last * width] for array in arrays])

    share(some, rows, nanoseconds * width, few)


def _run_on_bits(step: Step, nanoseconds: float, x: Array, *others: Array, width: int = 1) -> Array | None:
    """Return the result of a step on the bits of row-major arrays; None if the step raises _Tiny."""
    out = np.empty(x.shape, _BITS)
    arrays = [array.view(_BITS).reshape(-1) for array in (x, *others)]
    try:
        _in_parts(step, nanoseconds, width, *arrays, out.reshape(-1))
    except _Tiny:
        return None
    return out.view(BFLOAT16)


def _usable(x: Array) -> bool:
    return x.size >= _FEW and x.dtype == BFLOAT16 and x.flags.c_contiguous


def _enter(op: str, kernel: Callable[..., Array | None]) -> None:
    if FOUND_HALVES:
        define_direct(op, "bfloat16", kernel, _FEW)


# ---- arithmetic -----------------------------------------------------------------------------------------------------------------

# Twice the bits, minus one, of operands whose results below 1.2e-38 can only be zeros: sums of multiples of
# 2**-117, products of numbers above 2**-62, quotients of such numbers by numbers below 2**62.
_IN_SUMS, _IN_PRODUCTS = 2 * (127 - 110 << 7) - 1, 2 * (127 - 62 << 7) - 1
_DIVISORS = 2 * (127 + 62 << 7)
_SMALLEST, _LARGEST = 2.0**-60, 2.0**60  # bounds of numbers that are combined with arrays


def _arithmetic(op: str, kind: int, bound: int, swapped: bool) -> None:
    """Register a binary operation: of two arrays of one shape, an array and a number, or an array and a row. If ``swapped``, the operands
    may also come in the other order."""

    def refuse(x: Array, y: Array | None) -> None:
        if bound == _IN_SUMS and np.minimum.reduce(x + x) > bound:
            return  # a sum can only be tiny if both terms have the same size
        tiny = smallest(x) < bound
        if y is not None and not tiny:
            tiny = np.maximum.reduce(y + y) >= _DIVISORS if kind == library.DIV else smallest(y) < bound
        if tiny:
            raise _Tiny

    def same(x: Array, y: Array, out: Array) -> None:
        library.binary(kind, x, y, out)
        if has_zeros(out):
            refuse(x, y)

    def kernel(x: Array, y: Array) -> Array | None:
        if swapped and (x.size < y.size or x.ndim < y.ndim):
            x, y = y, x
        if not _usable(x):
            return None
        if y.shape == x.shape:
            return _run_on_bits(same, 0.15, x, y) if _usable(y) else None
        if y.ndim == 0:
            number = y.view(_BITS) if y.dtype == BFLOAT16 else y
            if number.dtype.char not in "Hf" or not _SMALLEST < abs(float(y)) < _LARGEST:
                return None

            def beside(x: Array, out: Array) -> None:
                library.with_number(kind, x, number, out)
                if has_zeros(out):
                    refuse(x, None)

            return _run_on_bits(beside, 0.12, x)
        if y.size == 1 or y.shape[-1:] != x.shape[-1:] or y.size != y.shape[-1] or y.ndim > x.ndim:
            return None
        if y.dtype != BFLOAT16 or not y.flags.c_contiguous:
            return None
        row = y.view(_BITS).reshape(-1)

        def along(x: Array, out: Array) -> None:
            library.with_row(kind, x, row, out)
            if has_zeros(out):
                refuse(x, row)

        return _run_on_bits(along, 0.15, x, width=row.size)

    _enter(op, kernel)


_arithmetic("add", library.ADD, _IN_SUMS, swapped=True)
_arithmetic("sub", library.SUB, _IN_SUMS, swapped=False)
_arithmetic("mul", library.MUL, _IN_PRODUCTS, swapped=True)
_arithmetic("div", library.DIV, _IN_PRODUCTS, swapped=False)


# ---- functions of one number ----------------------------------------------------------------------------------------------------


def _unchecked(x: Array, out: Array) -> None:
    """Do not check: the function's results are never subnormal, or torch computes it by oneDNN too."""


def _no_zeros(x: Array, out: Array) -> None:
    if has_zeros(out):
        raise _Tiny


def _refuse_extremes(x: Array, out: Array) -> None:
    """Raise _Tiny if a result of exp is 0, infinite or NaN."""
    if np.count_nonzero(out) != out.size or out[out.argmax()] >= _INFINITE:
        raise _Tiny


def _check_near_zero(bound: int, lowest: int = 0xFFFF) -> Step:
    """Return a check for functions with f(x) ≈ x near 0. It raises _Tiny if ``out`` contains 0, and ``x`` contains a tiny nonzero number
    (``smallest(x) < bound``) or a negative number with bits above ``lowest``."""

    def look(x: Array, out: Array) -> None:
        if has_zeros(out) and (smallest(x) < bound or np.maximum.reduce(x) > lowest):
            raise _Tiny

    return look


_NORMAL = 2 * (127 - 124 << 7) - 1  # as above, for 2**-124
_BELOW_40 = 0xC220  # the bits of -40


def _function(op: str, kind: int, look: Step, nanoseconds: float) -> None:
    def step(x: Array, out: Array) -> None:
        library.function(kind, x, out)
        look(x, out)

    _enter(op, lambda x: _run_on_bits(step, nanoseconds, x) if _usable(x) else None)


_function("gelu", library.GELU, _unchecked, 0.25)
_function("sqrt", library.SQRT, _unchecked, 0.15)
_function("sigmoid", library.LOGISTIC, _no_zeros, 0.3)
_function("exp", library.EXP, _refuse_extremes, 0.25)
_function("tanh", library.TANH, _check_near_zero(_NORMAL), 0.3)
_function("silu", library.SWISH, _check_near_zero(_NORMAL, _BELOW_40), 0.35)
_function("gelu_tanh", library.GELU_TANH, _check_near_zero(_NORMAL, _BELOW_40), 0.4)
_function("square", library.SQUARE, _check_near_zero(_IN_PRODUCTS), 0.1)


def _by_bits(op: str, step: Step, least: int = 0, dtype: np.dtype[Any] = BFLOAT16) -> None:
    def kernel(x: Array) -> Array:
        bits = x.view(_BITS)
        out = np.empty_like(bits)
        step(bits, out)
        return out.view(dtype)

    define_direct(op, dtype.name, kernel, least)


def _positive(bits: Array, out: Array, infinite: int = _INFINITE) -> None:
    """Write ReLU of half-precision numbers, given as bits: 0 for negative numbers; NaN and -0.0 are unchanged. ``infinite``: the bits of
    inf."""
    signed = bits.view(np.int16)
    beside_number(np.maximum, np.int16(0), signed, out.view(np.int16))
    if bits.size and (np.maximum.reduce(bits, axis=None) > _SIGN | infinite or np.minimum.reduce(signed, axis=None) == -_SIGN):
        kept = (bits > (_SIGN | infinite)) | (bits == _SIGN)
        out[kept] = bits[kept]


_by_bits("relu", _positive, _FEW)
_by_bits("relu", lambda bits, out: _positive(bits, out, 0x7C00), _FEW, FLOAT16)
_by_bits("abs", lambda bits, out: np.bitwise_and(bits, np.uint16(_SIGN - 1), out=out))
_by_bits("neg", lambda bits, out: np.bitwise_xor(bits, np.uint16(_SIGN), out=out))


# ---- slopes ---------------------------------------------------------------------------------------------------------------------


def _small_slopes(x: Array, g: Array, out: Array) -> None:
    if has_zeros(out) and (smallest(g) < _IN_PRODUCTS or np.maximum.reduce(x) > _BELOW_40):
        raise _Tiny


def slope(kind: int, x: Array, g: Array) -> Array | None:
    """Return ``g`` times the derivative of a oneDNN function at ``x``; None if oneDNN does not compute it in bfloat16."""
    if not (FOUND_HALVES and _usable(x) and _usable(g) and x.shape == g.shape):
        return None

    def step(x: Array, g: Array, out: Array) -> None:
        library.slope(kind, x, g, out)
        if kind != library.GELU:
            _small_slopes(x, g, out)

    return _run_on_bits(step, 0.4, x, g)


def relu_slope(result: Array, g: Array) -> Array | None:
    """Return ``g`` where the result of ReLU is positive or NaN, else 0; None if the layouts differ."""
    if result.shape != g.shape or result.strides != g.strides or g.dtype != BFLOAT16:
        return None
    mask = np.bitwise_and(result.view(np.int16), np.int16(_SIGN - 1))
    if mask.__class__ is not np.ndarray:
        return None
    np.negative(mask, out=mask)
    np.right_shift(mask, 15, out=mask)  # all bits set where the result is not zero
    np.bitwise_and(g.view(np.int16), mask, out=mask)
    return mask.view(BFLOAT16)
