"""Resampling on the host: linear maps along one axis, unfold and fold."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..kernels.sliding_windows import strided_table, transposed_table
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF
from .matmul import product

Sizes = tuple[int, ...]


def _by_taps(rows: Array, taps: Array, length: int) -> Array:
    """Resample (rows, n) to (rows, length) by taps (source, target, weight), element by element."""
    order = taps[1].argsort(kind="stable")
    (sources, targets), weights = taps[:2, order].astype(np.int64), taps[2, order]
    counts = np.bincount(targets, minlength=length)
    places = np.arange(targets.size) - np.repeat(counts.cumsum() - counts, counts)
    shape = (int(counts.max(initial=0)), length)
    index, factors = np.full(shape, rows.shape[1]), np.zeros(shape, rows.dtype)
    index[places, targets], factors[places, targets] = sources, weights
    wide = np.concatenate((rows, np.zeros((rows.shape[0], 1), rows.dtype)), 1)  # a target with fewer taps reads zeros
    found = np.zeros((rows.shape[0], length), rows.dtype)
    with quiet():
        for step, factor in zip(index, factors):
            found += wide[:, step] * factor
    return found


def numpy_along(x: Array, matrix: Array, taps: Array | None, axis: int) -> Array:
    """Resample (…, n, …) to (…, m, …) by multiplying with ``matrix`` (n, m) along ``axis``. Rows with NaN or infinities, which the product
    would spread over the row, are computed from the matrix's nonzero terms, ``taps``."""
    moved = np.ascontiguousarray(x.swapaxes(axis, -1))
    rows = moved.reshape(-1, moved.shape[-1])
    found = product(rows, np.ascontiguousarray(matrix, x.dtype))
    if taps is not None:
        with quiet():
            finite = np.isfinite(np.add.reduce(found, axis=1))
        if not np.logical_and.reduce(finite):
            spoilt = np.flatnonzero(~finite)
            found[spoilt] = _by_taps(rows[spoilt], taps, matrix.shape[1])
    return np.array(found.reshape(*moved.shape[:-1], matrix.shape[1]).swapaxes(axis, -1), order="C")


def numpy_pick_along(x: Array, positions: Array, axis: int) -> Array:
    """Return the elements of ``x`` at ``positions`` along ``axis``, as a contiguous array."""
    return np.asarray(np.take(x, positions, axis), order="C")


class Passes:
    """Interpolation on the host, one axis after another. ``axes`` lists, for each axis, the positions to read, or a weight matrix and its
    nonzero terms."""

    __slots__ = ("axes",)

    def __init__(self, axes: list[tuple[int, tuple[Any, ...]]]) -> None:
        self.axes = axes


def numpy_upsample(x: Array, mode: str, out: Sizes, factors: Any, corners: bool, passes: Passes) -> Array:
    """Interpolate (N, C, *sizes) to (N, C, *out)."""
    for axis, weights in passes.axes:
        x = numpy_along(x, weights[0], weights[1], axis) if len(weights) == 2 else numpy_pick_along(x, weights[0], axis)
    return x


def _added(g: Array, positions: Array, axis: int, length: int) -> Array:
    found = np.zeros((length, *g.shape[:axis], *g.shape[axis + 1 :]), g.dtype)
    np.add.at(found, positions, np.moveaxis(g, axis, 0))
    return np.ascontiguousarray(np.moveaxis(found, 0, axis))


def numpy_upsample_grad(
    g: Array, sizes: Sizes, mode: str, out: Sizes, factors: Any, corners: bool, passes: Passes
) -> Array:  # fmt: skip
    """Return the gradient of ``numpy_upsample`` for its input: (N, C, *out) → (N, C, *sizes)."""
    for axis, weights in reversed(passes.axes):
        if len(weights) == 1:
            g = _added(g, weights[0], axis, sizes[axis - 2])
        else:
            matrix, taps = weights
            g = numpy_along(g, np.ascontiguousarray(matrix.T), taps[[1, 0, 2]], axis)
    return g


def windows(x: Array, table: Array, fill: float = 0) -> Array:
    """Unfold (N, C, *spatial) to (N, C, kernel elements, output elements), with ``fill`` for padding."""
    n, c = x.shape[:2]
    flat = np.ascontiguousarray(x).reshape(n, c, int(np.prod(x.shape[2:])))
    outside = table < 0
    if outside.any():
        flat = np.concatenate((flat, np.full((n, c, 1), fill, x.dtype)), 2)
    return np.take(flat, table, 2)


def numpy_unfold(x: Array, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, out: Sizes) -> Array:
    """Unfold (N, C, *spatial) to (N, C * kernel elements, windows)."""
    columns = windows(x, strided_table(tuple(x.shape[2:]), kernel, stride, padding, dilation, out))
    return columns.reshape(x.shape[0], x.shape[1] * columns.shape[2], columns.shape[3])


def numpy_fold(x: Array, sizes: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, blocks: Sizes) -> Array:
    """Fold (N, C * kernel elements, windows) to (N, C, *sizes), summing overlapping windows."""
    n = x.shape[0]
    count, length = int(np.prod(kernel)), int(np.prod(blocks))
    c = x.shape[1] // count
    table = transposed_table(blocks, kernel, stride, padding, dilation, sizes)
    flat = np.concatenate((np.ascontiguousarray(x).reshape(n, c, count * length), np.zeros((n, c, 1), x.dtype)), 2)
    index = np.where(table < 0, count * length, table + np.arange(count)[:, None] * length)
    return np.take(flat, index, 2).sum(2, dtype=x.dtype).reshape(n, c, *sizes)


define_host("along", numpy_along, FLOATS, HALF)
define_host("pick_along", numpy_pick_along)
define_host("upsample", numpy_upsample, FLOATS, HALF)
define_host("upsample_grad", numpy_upsample_grad, FLOATS, HALF)
define_host("im2col", numpy_unfold, (*FLOATS, *COMPLEX), HALF)
define_host("col2im", numpy_fold, (*FLOATS, *COMPLEX), HALF)
