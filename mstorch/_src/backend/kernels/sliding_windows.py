"""Sliding windows over the spatial dimensions as one gather: convolution, pooling and unfold in any rank and dtype."""
from __future__ import annotations

from functools import lru_cache

import numpy as np
from mindspore import ops

from ..arrays import Array
from ..device_memory import full
from ..raw import NAME_OF, Raw, from_numpy
from .index import entries
from .views import ops_reshape as _reshape

_concat = ops.Concat(2)


def _strided_axis(size: int, kernel: int, stride: int, before: int, dilation: int, out: int) -> Array:
    """Return positions (kernel, out) along an axis of ``size``; -1 marks padding."""
    positions = np.arange(out)[None, :] * stride - before + np.arange(kernel)[:, None] * dilation
    return np.where((positions >= 0) & (positions < size), positions, -1)


def _transposed_axis(size: int, kernel: int, stride: int, before: int, dilation: int, out: int) -> Array:
    """Return the input position that contributes to output ``o`` through kernel element ``k`` of a transposed convolution."""
    reach = np.arange(out)[None, :] + before - np.arange(kernel)[:, None] * dilation
    positions = reach // stride
    return np.where((reach % stride == 0) & (positions >= 0) & (positions < size), positions, -1)


def _adaptive_axis(size: int, out: int) -> Array:
    """Return positions (longest window, out) of adaptive pooling; shorter windows are filled with -1."""
    starts = np.arange(out) * size // max(out, 1)
    stops = -(-(np.arange(1, out + 1) * size) // max(out, 1))
    longest = int((stops - starts).max(initial=1))
    positions = starts[None, :] + np.arange(longest)[:, None]
    return np.where(positions < stops[None, :], positions, -1)


def _combine(sizes: tuple[int, ...], axes: list[Array]) -> Array:
    """Return flat positions (kernel elements, output elements) from the positions along each axis; -1 if any is -1."""
    flat = np.zeros((1, 1), np.int64)
    outside = np.zeros((1, 1), bool)
    for size, axis in zip(sizes, axes):
        k, o = axis.shape
        shape = (flat.shape[0] * k, flat.shape[1] * o)
        flat = (flat[:, None, :, None] * size + axis[None, :, None, :]).reshape(shape)
        outside = (outside[:, None, :, None] | (axis < 0)[None, :, None, :]).reshape(shape)
    return np.where(outside, -1, flat)


@lru_cache(512)
def strided_table(
    sizes: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], before: tuple[int, ...],
    dilation: tuple[int, ...], out: tuple[int, ...],
) -> Array:  # fmt: skip
    """Return flat positions (kernel elements, output elements) of the windows of a convolution or a pooling."""
    return _combine(sizes, [_strided_axis(*numbers) for numbers in zip(sizes, kernel, stride, before, dilation, out)])


@lru_cache(512)
def outside_windows(
    sizes: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], before: tuple[int, ...],
    dilation: tuple[int, ...], out: tuple[int, ...],
) -> tuple[Array, Array] | None:  # fmt: skip
    """Return a mask of the windows that contain only padding, and the positions that torch returns as their indices; None if there are no
    such windows."""
    empty = (strided_table(sizes, kernel, stride, before, dilation, out) < 0).all(0)
    if not empty.any():
        return None
    flat = np.zeros(1, np.int64)
    for size, s, p, d, o in zip(sizes, stride, before, dilation, out):
        start = np.arange(o) * s - p
        start = np.where(start < 0, start + -(start // d) * d, start)  # the first position of the window that is not negative
        flat = (flat[:, None] * size + start[None, :]).reshape(-1)
    return empty, flat


@lru_cache(512)
def transposed_table(
    sizes: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], before: tuple[int, ...],
    dilation: tuple[int, ...], out: tuple[int, ...],
) -> Array:  # fmt: skip
    """Return flat positions (kernel elements, output elements) that a transposed convolution sums over."""
    return _combine(sizes, [_transposed_axis(*numbers) for numbers in zip(sizes, kernel, stride, before, dilation, out)])


@lru_cache(512)
def adaptive_table(sizes: tuple[int, ...], out: tuple[int, ...]) -> Array:
    """Return flat positions (longest window, output elements) of adaptive pooling."""
    return _combine(sizes, [_adaptive_axis(*numbers) for numbers in zip(sizes, out)])


_INDICES: dict[int, tuple[Array, Raw, bool]] = {}


def _index_of(table: Array, count: int) -> tuple[Raw, bool]:
    """Return the table as a raw tensor with padding at position ``count``, and whether there is padding."""
    found = _INDICES.get(id(table))
    if found is None or found[0] is not table:
        padded = bool((table < 0).any())
        raw = from_numpy(np.where(table < 0, count, table).astype(np.int32).reshape(-1))
        if len(_INDICES) > 1024:
            _INDICES.clear()
        found = _INDICES[id(table)] = (table, raw, padded)
    return found[1], found[2]


def windows(x: Raw, table: Array, fill: float = 0) -> Raw:
    """Unfold (N, C, *spatial) to (N, C, kernel elements, output elements), with ``fill`` for padding."""
    n, c = x.shape[:2]
    flat = _reshape(x, (n, c, -1))
    index, padded = _index_of(table, flat.shape[2])
    if padded:
        flat = _concat((flat, full((n, c, 1), fill, NAME_OF[x.dtype])))
    return _reshape(entries(flat, index, 2), (n, c, *table.shape))
