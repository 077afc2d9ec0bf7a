"""Evenly spaced numbers, in the precision in which torch computes them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.cast import numpy_cast
from ...core.dtype import dtype
from ...mt19937.rounding import fma32, fma64
from ...quiet import quiet


def evenly_spaced(start: Any, end: Any, steps: int, kind: dtype) -> Array:
    """Compute evenly spaced numbers from the nearer end, in the result's precision, as torch does."""
    if kind.is_integral:
        start, end = int(start), int(end)
        step = (float(end) - float(start)) / max(steps - 1, 1)
        return numpy_cast(np.trunc(_from_both_ends(steps, np.dtype(np.float64), step, start, end)), kind.np)
    if kind.name in ("float16", "bfloat16"):
        return _in_halves(start, end, steps, kind)
    wide: Any = kind.np if kind.ms is not None else np.dtype(np.float32)
    first, last = wide.type(start), wide.type(end)
    with quiet():
        step = (last - first) / wide.type(max(steps - 1, 1))
        return numpy_cast(_from_both_ends(steps, wide, step, first, last), kind.np)


def _from_both_ends(steps: int, kind: np.dtype[Any], step: Any, first: Any, last: Any) -> Array:
    """Return the first half of the numbers counted from the first, the second half from the last; a single number is the first."""
    values = np.empty(steps, kind)
    half = 1 if steps == 1 else steps // 2
    values[:half] = _fused(np.arange(half, dtype=kind), step, first)
    values[half:] = _fused(np.arange(half - steps + 1, 1, dtype=kind), step, last)
    return values


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
