"""Counting kernels."""
from __future__ import annotations

import numpy as np
from mindspore import ops

from ..cast import cast
from ..raw import Raw, from_numpy
from ..table import define
from .reduce import constant

_segment_sum = ops.UnsortedSegmentSum()


def ops_segment_sum(values: Raw, positions: Raw, count: int) -> Raw:
    """Return a vector of length ``count`` in which ``values[i]`` is added at ``positions[i]`` (int64)."""
    if values.size == 0 or count == 0:
        return constant(values, (count,), 0)
    return _segment_sum(values, cast(positions, "int32"), count)


def ops_count(positions: Raw, count: int) -> Raw:
    """Return how often each number below ``count`` occurs among the positions, int64."""
    return ops_segment_sum(from_numpy(np.ones(positions.shape, np.int64)), positions, count)


define("segment_sum", cpu=ops_segment_sum, dtypes=("float32", "float64", "int32"), via={"float16": "float32", "bfloat16": "float32"})
define("count_positions", cpu=ops_count, dtypes=("int64",))
