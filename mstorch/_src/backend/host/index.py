"""Indexing on the host."""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..arrays import Array
from ..table import define_host


def numpy_index(x: Array, dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool) -> Array:
    """Index with arrays in some dimensions."""
    found = x[index_key(x.ndim, dims, indices)]
    return found if found.flags.c_contiguous else np.ascontiguousarray(found)


def index_key(rank: int, dims: tuple[int, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return NumPy's key for index arrays in some dimensions."""
    given = dict(zip(dims, indices))
    return tuple(given.get(dim, slice(None)) for dim in range(rank))


def numpy_gather(x: Array, dim: int, index: Array) -> Array:
    """Gather ``x`` along a dimension at ``index``, as ``torch.gather``."""
    if not index.size:
        return np.empty(index.shape, x.dtype)
    if not index.ndim or not x.ndim:
        return x.reshape(-1)[np.reshape(index, -1)].reshape(index.shape)
    rows = expanded_rows(x.shape, dim, index)
    if rows is not None:
        return x.take(rows, axis=0)
    if x.flags.c_contiguous:
        return x.reshape(-1).take(_flat_places(x.shape, dim, index))
    part = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    return np.take_along_axis(part, index, dim)


def row_places(shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Return the flat positions that ``gather`` reads, in a row-major array of this shape."""
    rows = expanded_rows(shape, dim, index)
    if rows is not None:
        inner = math.prod(shape[1:])
        return ((rows * inner)[:, None] + np.arange(inner)).reshape(index.shape)
    return _flat_places(shape, dim, index)


def _flat_places(shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Return what ``row_places`` returns for an index that was not expanded."""
    starts = (_starts if index.size <= _REMEMBERED else _starts.__wrapped__)(shape, dim, index.shape)
    step = math.prod(shape[dim + 1 :])
    return index + starts if step == 1 else index * step + starts


def expanded_rows(shape: tuple[int, ...], dim: int, index: Array) -> Array | None:
    """Return the vector that was expanded over the other dimensions of an array of this shape to an index along the first; None for another
    index."""
    if dim or index.ndim < 2 or not index.size or index.shape[1:] != shape[1:]:
        return None
    if any(step and n > 1 for step, n in zip(index.strides[1:], index.shape[1:])):
        return None
    key: tuple[Any, ...] = (slice(None), *(0,) * (index.ndim - 1))
    return np.asarray(index[key])


_REMEMBERED = 1 << 14


@functools.lru_cache(64)
def _starts(shape: tuple[int, ...], dim: int, own: tuple[int, ...]) -> Array:
    """Return the flat positions in a row-major array of ``shape`` of the elements with index 0 along ``dim``, for the indices below ``own``
    in the other dimensions: an array of the shape ``own``, with length 1 along ``dim``."""
    found = np.zeros((1,) * len(shape), np.int64)
    for d, count in enumerate(own):
        if d != dim:
            found = found + np.arange(count).reshape([-1 if d == e else 1 for e in range(len(shape))]) * math.prod(shape[d + 1 :])
    found.flags.writeable = False
    return found


def numpy_index_select(x: Array, dim: int, index: Array) -> Array:
    """Select entries along a dimension."""
    return np.take(x, index, axis=dim)


def numpy_take(x: Array, index: Array) -> Array:
    """Take elements at flat positions."""
    return np.asarray(x.reshape(-1)[index])


def numpy_index_placed(
    g: Array, shape: tuple[int, ...], dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool
) -> Array:  # fmt: skip
    """Scatter-add elements into zeros of a shape at index arrays in some dimensions."""
    whole = np.zeros(shape, g.dtype)
    np.add.at(whole, index_key(len(shape), dims, indices), g)
    return whole


def numpy_embedding_grad(g: Array, index: Array, rows: int, padding: int, by_frequency: bool) -> Array:
    """Return the gradient of an embedding's weight (rows, D): ``g`` added at the indices. Row ``padding`` gets 0; with ``by_frequency``,
    each row is divided by the number of times that its index occurs."""
    whole = np.zeros((rows, g.shape[-1]), g.dtype)
    flat = index.reshape(-1)
    part = g.reshape(flat.size, g.shape[-1])
    if by_frequency:
        part = part / np.bincount(flat, minlength=rows)[flat][:, None].astype(g.dtype)
    kept = flat != padding
    np.add.at(whole, flat[kept], part[kept])
    return whole


def numpy_embedding(weight: Array, index: Array, padding: int, by_frequency: bool) -> Array:
    """Return the rows of ``weight`` at ``index``: (rows, D), (*) → (*, D)."""
    return np.take(weight, index, axis=0)


define_host("index", numpy_index)
define_host("index_placed", numpy_index_placed)
define_host("embedding_grad", numpy_embedding_grad)
define_host("gather", numpy_gather)
define_host("index_select", numpy_index_select)
define_host("take", numpy_take)
define_host("embedding", numpy_embedding)


def numpy_nonzero(x: Array) -> Array:
    """Return the indices of nonzero elements, (count, dimensions), int64."""
    return np.array(np.argwhere(x), np.int64, order="C", ndmin=2)


define_host("nonzero", numpy_nonzero, ("bool",))
