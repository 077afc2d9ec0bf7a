"""Taking elements by position on the host."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..table import define_host


def numpy_index(x: np.ndarray, dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool) -> np.ndarray:
    """Elements at index arrays in some dimensions."""
    found = x[index_key(x.ndim, dims, indices)]
    return found if found.flags.c_contiguous else np.ascontiguousarray(found)


def index_key(rank: int, dims: tuple[int, ...], indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """NumPy's key for index arrays in some dimensions."""
    given = dict(zip(dims, indices))
    return tuple(given.get(dim, slice(None)) for dim in range(rank))


def numpy_gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """``x`` taken along a dimension at ``index``, whose other dimensions run along those of ``x``."""
    if not index.size:
        return np.empty(index.shape, x.dtype)
    if not index.ndim or not x.ndim:
        return x.reshape(-1)[np.reshape(index, -1)].reshape(index.shape)
    part = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    return np.take_along_axis(part, index, dim)


def numpy_index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """Entries along a dimension."""
    return np.take(x, index, axis=dim)


def numpy_take(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements at flat positions."""
    return np.asarray(x.reshape(-1)[index])


def numpy_embedding(weight: np.ndarray, index: np.ndarray, padding: int, by_frequency: bool) -> np.ndarray:
    """Rows of a table."""
    return np.take(weight, index, axis=0)


define_host("index", numpy_index)
define_host("gather", numpy_gather)
define_host("index_select", numpy_index_select)
define_host("take", numpy_take)
define_host("embedding", numpy_embedding)


def numpy_nonzero(x: np.ndarray) -> np.ndarray:
    """The positions of true elements, (count, dimensions), int64."""
    return np.array(np.argwhere(x), np.int64, order="C", ndmin=2)


define_host("nonzero", numpy_nonzero, ("bool",))
