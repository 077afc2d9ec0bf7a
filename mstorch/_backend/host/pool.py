"""Pooling on the host, by windows: for forked processes, which MindSpore's kernels do not reach."""
from __future__ import annotations

import numpy as np

from ..kernels.windows import adaptive_table, outside_windows, strided_table
from ..table import define_host
from ._ufunc import FLOATS, HALF, INTS, number
from .resample import windows

Sizes = tuple[int, ...]


def _pick(
    x: np.ndarray, table: np.ndarray, out: Sizes, outside: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each window, the first of equals, NaN above all, and its position among the input's."""
    n, c = x.shape[:2]
    if not x.size or not table.shape[1]:
        return np.zeros((n, c, *out), x.dtype), np.zeros((n, c, *out), np.int64)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    columns = windows(x, table, lowest)
    index = np.asarray(table[columns.argmax(2), np.arange(table.shape[1])], np.int64, order="C")
    values = np.take_along_axis(np.ascontiguousarray(x).reshape(n, c, -1), index, 2)
    if outside is not None:
        empty, first = outside
        values, index = np.where(empty, x.dtype.type(lowest), values), np.where(empty, first, index)
    return values.reshape(n, c, *out), index.reshape(n, c, *out)


def numpy_max_pool(x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> np.ndarray:
    """(N, C, *spatial) → (N, C, *out): the largest value of each window."""
    return numpy_max_pool_indices(x, kernel, stride, padding, dilation, out)[0]


def numpy_max_pool_indices(
    x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each window and its position in the flattened spatial dimensions (int64)."""
    numbers = (x.shape[2:], kernel, stride, padding, dilation, out)
    return _pick(x, strided_table(*numbers), out, outside_windows(*numbers))


def numpy_adaptive_max_pool(x: np.ndarray, out: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Windows that divide the input into ``out`` parts: largest values and their positions."""
    return _pick(x, adaptive_table(x.shape[2:], out), out)


def numpy_avg_pool(
    x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None
) -> np.ndarray:
    """(N, C, *spatial) → (N, C, *out): the mean of each window."""
    if not x.size or 0 in out:
        return np.zeros((*x.shape[:2], *out), x.dtype)
    total = windows(x, strided_table(x.shape[2:], kernel, stride, padding, (1,) * len(kernel), out)).sum(2, dtype=x.dtype)
    total = total.reshape(*x.shape[:2], *out)
    if divisor is not None:
        return np.asarray(total / number(divisor, x), x.dtype)
    counts = np.ones((), np.int64)
    for n, k, s, p, o in zip(x.shape[2:], kernel, stride, padding, out):
        start = np.arange(o) * s - p
        stop = np.minimum(start + k, n + p)
        counts = counts[..., None] * (stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0))
    return np.asarray(total / counts.astype(x.dtype), x.dtype)


def numpy_adaptive_avg_pool(x: np.ndarray, out: Sizes) -> np.ndarray:
    """(N, C, *spatial) → (N, C, *out): means of windows that divide the input into ``out`` parts."""
    if not x.size or 0 in out:
        return np.zeros((*x.shape[:2], *out), x.dtype)
    table = adaptive_table(x.shape[2:], out)
    total = windows(x, table).sum(2, dtype=x.dtype)
    return np.asarray(total / (table >= 0).sum(0).astype(x.dtype)).reshape(*x.shape[:2], *out)


define_host("max_pool", numpy_max_pool, (*FLOATS, *INTS), HALF, spare=True)
define_host("max_pool_indices", numpy_max_pool_indices, (*FLOATS, *INTS), HALF, spare=True)
define_host("adaptive_max_pool", numpy_adaptive_max_pool, (*FLOATS, *INTS), HALF, spare=True)
define_host("avg_pool", numpy_avg_pool, FLOATS, HALF, spare=True)
define_host("adaptive_avg_pool", numpy_adaptive_avg_pool, FLOATS, HALF, spare=True)
