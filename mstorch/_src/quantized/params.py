"""Computation of scales and zero points with which an integer range covers given bounds."""
from __future__ import annotations

import numpy as np

from ..backend.arrays import Array
from ..quiet import quiet

SMALL = np.float32(6.1e-5)
"""The smallest scale: products of smaller scales could underflow to zero."""


def _halved(value: int) -> int:
    """Return half of an integer, truncated towards zero."""
    return int(value / 2)


def choose(
    low: float | Array, high: float | Array, least: int, greatest: int, symmetric: bool = False, reduce_range: bool = False
) -> tuple[Array, Array]:
    """Return scales (float64) and zero points (int64) for arrays of lower and upper bounds, as torch's kernels compute them.

    ``least`` and ``greatest`` are the quantized range. With ``symmetric``, the zero point is the middle of the range where ``low < 0 <
    high``. ``reduce_range`` makes the range one bit smaller."""
    low, high = np.atleast_1d(np.asarray(low, np.float32)), np.atleast_1d(np.asarray(high, np.float32))
    if not (low <= high).all():
        raise RuntimeError("In ChooseQuantizationParams, min should be less than or equal to max")
    if reduce_range:
        least, greatest = _halved(least), _halved(greatest)
    with quiet():
        both = (low < 0) & (high > 0) & symmetric
        down, up = -((greatest - least) // 2 + 1), (greatest - least) // 2
        step = np.maximum(np.abs(low / np.float32(down)), np.abs(high / np.float32(up))).astype(np.float64)
        low = np.where(both, (step * down).astype(np.float32), low)
        high = np.where(both, (step * up).astype(np.float32), high)
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        scale = (high.astype(np.float64) - low) / (greatest - least)
        single = scale.astype(np.float32)
        scale = np.where((single == 0) | np.isinf(np.float32(1) / single), 0.1, scale)
        small = scale < SMALL
        wide = SMALL * np.float32(greatest - least)
        factor = SMALL / scale.astype(np.float32)
        low, high = (
            np.where(small & (low != 0), np.where(high == 0, -wide, low * factor), low),
            np.where(small & (high != 0), np.where(low == 0, high, high * factor), high),
        )
        high = np.where(small & (low == 0), wide, high)
        scale = np.where(small, np.float64(SMALL), scale)
        from_low, from_high = least - low / scale, greatest - high / scale
        nearer = abs(least) - np.abs(low / scale) < abs(greatest) - np.abs(high / scale)
        start = np.where(nearer, from_low, from_high)
        start = np.where(both, (least + greatest) / 2, start)
        point = np.where(start < least, least, np.where(start > greatest, greatest, np.rint(start)))
    return scale, point


def choose_one(low: float, high: float, least: int, greatest: int, reduce_range: bool = False) -> tuple[float, int]:
    """Return ``choose`` for one pair of bounds."""
    scale, point = choose(low, high, least, greatest, reduce_range=reduce_range)
    return float(scale[0]), whole(point[0])


def whole(value: float) -> int:
    """Convert a number to int32 as C does: a number out of range becomes the minimum."""
    return int(value) if -(2**31) <= value < 2**31 else -(2**31)
