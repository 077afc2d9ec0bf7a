"""Counting on the host."""
from __future__ import annotations

import numpy as np

from ..table import define_host
from ._ufunc import FLOATS, HALF


def numpy_segment_sum(values: np.ndarray, positions: np.ndarray, count: int) -> np.ndarray:
    """For each of ``count`` bins the sum of the values (a vector) whose position (int64) it is."""
    found = np.zeros(count, values.dtype)
    np.add.at(found, positions, values)
    return found


def numpy_count_positions(positions: np.ndarray, count: int) -> np.ndarray:
    """Return how often each of ``count`` numbers is among the positions, int64."""
    return np.asarray(np.bincount(positions.reshape(-1), minlength=count)[:count], np.int64)


define_host("segment_sum", numpy_segment_sum, (*FLOATS, "int32"), HALF)
define_host("count_positions", numpy_count_positions, ("int64",))
