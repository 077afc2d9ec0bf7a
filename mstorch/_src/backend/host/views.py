"""Copies and views on the host: reshaping and permuting return views, which only gradient rules use."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..table import define_host
from .narrow import row_major


def put(whole: Array, key: Any, array: Array) -> None:
    """Assign ``whole[key] = array``, or do nothing if the array is empty.

    MindSpore's bfloat16 crashes the process if NumPy copies an empty vector: it reports the empty copy as a failure without holding the
    GIL.
    """
    if array.size:
        whole[key] = array


def numpy_window(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """Return a strided view of the array's memory."""
    return np.array(_strided_view(x, shape, strides, offset), order="C")


def _strided_view(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    return np.lib.stride_tricks.as_strided(x[offset:], shape, [step * x.itemsize for step in strides])


def numpy_window_placed(
    x: Array, size: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, adding: bool
) -> Array:  # fmt: skip
    """Write elements into zeros of a size at the positions of a strided view; with ``adding``, elements at one position are summed."""
    memory = np.zeros(size, x.dtype)
    if adding:
        np.add.at(memory, _strided_view(np.arange(size), shape, strides, offset), x)
    else:
        put(_strided_view(memory, shape, strides, offset), ..., x)
    return memory


define_host("clone", row_major)
define_host("window", numpy_window)
define_host("window_placed", numpy_window_placed)
