"""Reductions of row-major arrays along short rows, or along dimensions before short rows: NumPy starts its inner loop for few elements.

Two or three calls with longer rows, or one for each column, take a tenth to a half of the time.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array

_LEAST = 1 << 11  # number of elements from which on several calls take less time
_LONGEST = 1 << 11  # number of elements of a row that NumPy's inner loop combines in the time of a call
_FEWEST = 16  # rows
_COLUMNS = 32
_ROWS = 1 << 8


@functools.lru_cache(maxsize=64)
def starts_of_rows(count: int, length: int) -> Array:
    """Return the places at which the rows of (count, length) begin."""
    return np.arange(0, count * length, length)


def reduced(function: Any, x: Array, axes: Sequence[int] | None, keepdims: bool = False) -> Array:
    """Return ``function.reduce(x, axes)`` in the dtype of ``x``; ``axes`` are not negative (None: all)."""
    found = None if axes is None else folded(function, x, axes, keepdims)
    if found is not None:
        return found
    return np.asarray(function.reduce(x, axis=None if axes is None else tuple(axes), dtype=x.dtype, keepdims=keepdims))


def folded(function: Any, x: Array, axes: Sequence[int], keepdims: bool) -> Array | None:
    """Return what ``reduced`` returns, or None if one call is as fast."""
    found = None if x.size < _LEAST or not x.flags.c_contiguous else _folded(function, x, axes)
    if found is None:
        return None
    return found.reshape([1 if axis in axes else n for axis, n in enumerate(x.shape) if keepdims or axis not in axes])


def _folded(function: Any, x: Array, axes: Sequence[int]) -> Array | None:
    """Return the reduction along adjacent dimensions as a flat array; None if one call is as fast."""
    first, last = min(axes), max(axes)
    if last - first + 1 != len(axes):
        return None
    shape = x.shape
    outer, length, inner = math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
    if length < 2:
        return None
    if inner == 1:
        return _column_by_column(function, x.reshape(outer, length)) if length <= _COLUMNS and outer >= _ROWS else None
    if inner > _LONGEST or length < _FEWEST:
        return None
    parts = math.isqrt(length)
    rows = length // parts
    lines = x.reshape(outer, length * inner)
    found = function.reduce(lines[:, : parts * rows * inner].reshape(outer, parts, rows * inner), axis=1)
    found = function.reduce(found.reshape(outer, rows, inner), axis=1)
    if parts * rows < length:
        function(found, function.reduce(x.reshape(outer, length, inner)[:, parts * rows :], axis=1), out=found)
    return found


def _column_by_column(function: Any, rows: Array) -> Array:
    found = np.array(function(rows[:, 0], rows[:, 1]))
    for column in range(2, rows.shape[1]):
        function(found, rows[:, column], out=found)
    if function is np.add and rows.dtype.kind in "fc":
        found += 0  # a sum begins with zero, so that it is not negative if all numbers are negative zeros
    return found
