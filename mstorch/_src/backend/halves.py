"""Conversions between half and single precision, by bit operations and oneDNN; NumPy's are emulated or element by element."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..quiet import quiet
from .arrays import Array
from .blocks import share
from .onednn.bfloat16 import convert
from .onednn.library import FOUND_HALVES
from .raw import NP_DTYPE

BFLOAT16, FLOAT16 = NP_DTYPE["bfloat16"], np.dtype(np.float16)
_BITS, _SINGLE = np.dtype(np.uint16), np.dtype(np.float32)
_HALF = np.uint32(16)
_SHORT = 1 << 9  # number of elements up to which NumPy's own conversion is fastest
_FEW, _LONG = 1 << 12, 1 << 13  # number of elements that NumPy converts in the time of a call; and from which on bit operations are used
_BLOCK = 1 << 18
_COST = 0.15  # nanoseconds per element that is not in the cache


def widened(array: Array) -> Array:
    """Return a half-precision array cast to float32, in the same memory order."""
    if array.size < _SHORT or array.dtype != BFLOAT16:
        found = _from_float16(array) if array.size >= _LONG and array.dtype == FLOAT16 else None
        return array.astype(_SINGLE) if found is None else found
    if FOUND_HALVES and array.size > _FEW:
        flat = flat_bits(array)
        if flat is not None:
            line = np.empty(array.size, _SINGLE)
            if array.size <= _BLOCK:
                convert(flat, line)
            else:
                share(lambda start, end: convert(flat[start:end], line[start:end]), array.size, _COST, _BLOCK)
            return _in_order(line, array)
    bits = np.asarray(array).view(_BITS).astype(np.uint32)
    np.left_shift(bits, _HALF, out=bits)
    return bits.view(_SINGLE)


_SHIFT, _KEPT, _SCALE = np.int32(13), np.int32(-0x70002000), np.float32(2.0**112)  # _KEPT masks the sign and the other 15 bits, shifted


def _from_float16(array: Array) -> Array | None:
    """Cast float16 to float32 by bit operations (NumPy 1 emulates it); return None if one is infinite or NaN."""
    flat = _flat(array.view(np.int16))
    if flat is None:
        return None
    line = np.empty(flat.size, np.int32)
    for start in range(0, flat.size, _BLOCK):
        own, bits = flat[start : start + _BLOCK], line[start : start + _BLOCK]
        if np.maximum.reduce(own) >= 0x7C00 or np.maximum.reduce(own.view(_BITS)) >= 0xFC00:
            return None
        np.copyto(bits, own)
        np.left_shift(bits, _SHIFT, out=bits)
        np.bitwise_and(bits, _KEPT, out=bits)
        values = bits.view(_SINGLE)
        np.multiply(values, _SCALE, out=values)  # exact, also for subnormal numbers
    return _in_order(line.view(_SINGLE), array)


def narrowed(array: Array, kind: np.dtype[Any]) -> Array:
    """Cast to a narrower dtype, rounding to nearest; out-of-range numbers become infinite."""
    if array.size > _FEW and FOUND_HALVES and kind == BFLOAT16 and array.dtype == _SINGLE:
        flat = _flat(array)
        if flat is not None:
            return _in_order(_rounded(flat), array).view(BFLOAT16)
    with quiet():
        return array.astype(kind)


def rounded(array: Array) -> Array:
    """Cast a C-contiguous float32 array to bfloat16; subnormal numbers may become 0, as in oneDNN."""
    if not FOUND_HALVES or array.size <= _FEW:
        return narrowed(array, BFLOAT16)
    line, flat = np.empty(array.size, _BITS), array.reshape(-1)
    share(lambda start, end: convert(flat[start:end], line[start:end]), array.size, _COST, _BLOCK)
    return line.reshape(array.shape).view(BFLOAT16)


def flat_bits(array: Array) -> Array | None:
    """Return the bits of a bfloat16 array as a flat view in memory order; None if the array is not dense."""
    return _flat(array.view(_BITS))


def _flat(array: Array) -> Array | None:
    if array.flags.c_contiguous:
        return array.reshape(-1)
    return array.T.reshape(-1) if array.flags.f_contiguous else None


def _in_order(line: Array, like: Array) -> Array:
    """Return a flat array in the shape and memory order of another array."""
    if like.flags.c_contiguous:
        return line.reshape(like.shape)
    return line.reshape(like.shape[::-1]).T


def _rounded(flat: Array) -> Array:
    """Return the bfloat16 bits of flat numbers."""
    line = np.empty(flat.size, _BITS)

    def part(start: int, end: int) -> None:
        for first in range(start, end, _BLOCK):
            last = min(first + _BLOCK, end)
            own, out = flat[first:last], line[first:last]
            convert(own, out)
            if has_zeros(out) and _has_subnormals(own):
                with quiet():
                    out[...] = own.astype(BFLOAT16).view(_BITS)

    if flat.size <= _BLOCK:
        part(0, flat.size)
    else:
        share(part, flat.size, _COST, _BLOCK)
    return line


def has_zeros(bits: Array) -> bool:
    """Return whether bfloat16 bits contain 0.0 or -0.0, to which the processor may have flushed a subnormal number."""
    return np.count_nonzero(bits + bits) != bits.size  # doubling shifts the sign out; NumPy counts in a third of the time of a reduction


def smallest(bits: Array) -> int:
    """Return 2 * b - 1, where b is the bits of the smallest nonzero absolute value among bfloat16 numbers; 65,535 if all are zero."""
    twice = bits + bits
    twice -= 1
    return int(np.minimum.reduce(twice))


def _has_subnormals(flat: Array) -> bool:
    """Return whether a float32 array contains subnormal numbers."""
    bits = flat.view(np.uint32)
    twice = bits + bits
    twice -= 1
    return bool(np.minimum.reduce(twice) < 0x00FFFFFF)
