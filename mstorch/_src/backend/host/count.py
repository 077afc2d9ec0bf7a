"""Counting operations on the host."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..table import define_host
from ._ufunc import FLOATS, HALF


def numpy_segment_sum(values: Array, positions: Array, count: int) -> Array:
    """Return a vector of length ``count`` in which ``values[i]`` is added at ``positions[i]`` (int64)."""
    found = np.zeros(count, values.dtype)
    np.add.at(found, positions, values)
    return found


def numpy_count_positions(positions: Array, count: int) -> Array:
    """Return how often each number below ``count`` occurs among the positions, int64."""
    return np.asarray(np.bincount(positions.reshape(-1), minlength=count)[:count], np.int64)


define_host("segment_sum", numpy_segment_sum, (*FLOATS, "int32"), HALF)
define_host("count_positions", numpy_count_positions, ("int64",))
