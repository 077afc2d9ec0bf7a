"""Evenly spaced numbers, in the precision in which torch computes them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend.arrays import Array
from ..._backend.cast import numpy_cast
from ..._core.dtype import dtype
from ..._mt19937.rounding import fma32, fma64
from ..._quiet import quiet


def evenly_spaced(start: Any, end: Any, steps: int, kind: dtype) -> Array:
    """Compute evenly spaced numbers from the nearer end, in the result's precision, as torch does."""
    index = np.arange(steps)
    if kind.is_integral:
        start, end = int(start), int(end)
        step = (float(end) - float(start)) / max(steps - 1, 1)
        front = _fused(index.astype(np.float64), step, start)
        back = _fused((index - (steps - 1)).astype(np.float64), step, end)
        return numpy_cast(np.trunc(np.where((index < steps // 2) | (steps == 1), front, back)), kind.np)
    if kind.name in ("float16", "bfloat16"):
        return _in_halves(start, end, steps, kind)
    wide: Any = kind.np if kind.ms is not None else np.dtype(np.float32)
    first, last = wide.type(start), wide.type(end)
    with quiet():
        step = (last - first) / wide.type(max(steps - 1, 1))
        front = _fused(index.astype(wide), step, first)
        back = _fused((index - (steps - 1)).astype(wide), step, last)
    values = np.where(index < steps // 2, front, back).astype(wide)
    if steps == 1:
        values[0] = first
    return numpy_cast(values, kind.np)


def _in_halves(start: float, end: float, steps: int, kind: dtype) -> Array:
    """Compute evenly spaced numbers in a 16-bit dtype: every intermediate result is rounded to the dtype."""

    def rounded(values: Array | float) -> Array:
        return numpy_cast(numpy_cast(np.asarray(values, np.float32), kind.np), np.dtype(np.float32))

    first, last, index = rounded(start), rounded(end), np.arange(steps)
    step = rounded(rounded(last - first) / rounded(max(steps - 1, 1)))
    front = rounded(first + rounded(step * rounded(index)))
    back = rounded(last - rounded(step * rounded(steps - 1 - index)))
    return numpy_cast(np.where((index < steps // 2) | (steps == 1), front, back), kind.np)


def _fused(index: Array, step: Any, start: Any) -> Array:
    """Return ``index * step + start`` with one rounding, as torch's kernels do for real numbers."""
    if index.dtype == np.float32:
        return fma32(index.astype(np.float64) * np.float64(step), start)
    if index.dtype == np.float64:
        return fma64(index, float(step), float(start))
    return index * step + start
