"""Sums along any dimensions, in parts: but for the innermost one NumPy adds number after number, which over millions loses four digits."""
from __future__ import annotations

from typing import Any

import numpy as np

_SERIAL = 1024  # additions one after the other whose rounding is let be
_PART = 256


def sum_along(x: np.ndarray, axes: int | tuple[int, ...] | None = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """``np.add.reduce`` along dimensions (None: all), as exact along outer ones as it is along the innermost."""
    if x.size >= _SERIAL and x.dtype.kind in "fc":
        given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        chosen = tuple(axis % x.ndim for axis in given)
        outer = _outer(x, set(chosen))
        serial = 1
        for axis in outer:
            serial *= x.shape[axis]
        if serial >= _SERIAL:
            return sum_along(_shortened(x, max(outer, key=x.shape.__getitem__), dtype), chosen, keepdims, dtype)
    return np.add.reduce(x, axis=axes, dtype=dtype, keepdims=keepdims)


def _outer(x: np.ndarray, chosen: set[int]) -> set[int]:
    """The dimensions along which NumPy adds one after the other: not those that lie in memory as one with the innermost."""
    step = None
    for axis in sorted((axis for axis in range(x.ndim) if x.shape[axis] > 1), key=lambda axis: abs(x.strides[axis])):
        if axis not in chosen or step is not None and x.strides[axis] != step:
            break
        step = x.strides[axis] * x.shape[axis]
        chosen = chosen - {axis}
    return chosen


def _shortened(x: np.ndarray, axis: int, dtype: Any) -> np.ndarray:
    """The sums of parts along one dimension."""
    length = x.shape[axis]
    if length < 2 * _PART:
        return np.add.reduce(x, axis=axis, dtype=dtype, keepdims=True)
    lead = (slice(None),) * axis
    whole = length - length % _PART
    parts = x[(*lead, slice(0, whole))].reshape(*x.shape[:axis], whole // _PART, _PART, *x.shape[axis + 1 :])
    found = np.add.reduce(parts, axis=axis + 1, dtype=dtype)
    if whole == length:
        return found
    return np.concatenate((found, np.add.reduce(x[(*lead, slice(whole, None))], axis=axis, dtype=dtype, keepdims=True)), axis)
