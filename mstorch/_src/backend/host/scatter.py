"""Scatter and its reductions on the host."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...quiet import quiet
from ..arrays import Array
from ..halves import widened
from ..table import ALL, COMPLEX, define_host
from ._ufunc import FLOATS, HALF, INTS
from .index import expanded_rows, row_places

_HOW: dict[str, Any] = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_ADDED = (*FLOATS, *INTS, *COMPLEX, "float16", "bfloat16", "bool")


_FEWEST = 8  # number of elements of a row from which on rows are added as a whole
_MANY = 1 << 11  # number of elements from which on SciPy adds faster than NumPy, which takes 7 ns per element


def add_rows(whole: Array, positions: Array, rows: Array) -> None:
    """Add ``rows[i]`` to ``whole[positions[i]]`` for each i in order. ``positions`` is a vector of nonnegative numbers."""
    if rows.size < _MANY or rows.ndim < 2 or rows.dtype.char not in "fdFD" or rows.size < _FEWEST * len(positions):
        np.add.at(whole, positions, rows)
        return
    count = len(positions)
    chosen = sparse.csc_array((np.ones(count, rows.dtype), positions, np.arange(count + 1)), shape=(len(whole), count), copy=False)
    whole += (chosen @ rows.reshape(count, -1)).reshape(whole.shape)


def wide(array: Array) -> Array:
    """Cast half precision to float32, in which torch accumulates before rounding once."""
    return widened(array) if array.dtype.name in ("float16", "bfloat16") else array


def _lifted(x: Array) -> Array:
    return x if x.ndim else x.reshape(1)


def numpy_scatter(x: Array, source: Array, dim: int, index: Array, how: str) -> Array:
    """Write ("none") or add ("add") ``source`` to ``x`` at ``index`` along a dimension; source and index have one shape."""
    found = np.array(_lifted(x), order="C")
    if index.size:
        index, source = _lifted(index), _lifted(source)
        rows = expanded_rows(found.shape, dim, index)
        if rows is not None and how == "none":
            found[rows] = source
        elif rows is not None and source.size >= _FEWEST * len(rows):
            found = wide(found)
            with quiet():
                add_rows(found, rows, wide(source))
        else:
            places = row_places(found.shape, dim, index)
            if how == "add":
                found = wide(found)
                np.add.at(found.reshape(-1), places.reshape(-1), wide(source).reshape(-1))
            else:
                found.reshape(-1)[places] = source
    with quiet():
        return np.asarray(found.reshape(x.shape), x.dtype)


def numpy_put(x: Array, source: Array, index: Array, accumulate: bool) -> Array:
    """Put (or add) ``source`` at flat positions, which may be negative."""
    found = np.array(x, order="C").reshape(-1)
    if accumulate:
        np.add.at(found, index.reshape(-1), source.reshape(-1))
    else:
        found[index.reshape(-1)] = source.reshape(-1)
    return found.reshape(x.shape)


def numpy_index_write(x: Array, source: Array, dim: int, index: Array, accumulate: bool) -> Array:
    """Replace the entries ``index`` (a vector) of a dimension by those of ``source``, or add them."""
    found = np.array(_lifted(x), order="C")
    if index.size and x.size:
        key: Any = (slice(None),) * dim + (index,)
        source = source.reshape(*found.shape[:dim], index.size, *found.shape[dim + 1 :])
        if not accumulate:
            found[key] = source
            return found.reshape(x.shape)
        if x.ndim > 1 and dim in (0, x.ndim - 1):  # in other cases torch rounds each sum
            found, source = wide(found), wide(source)
        if dim == 0 and index.min() >= 0:
            add_rows(found, index, source)
        else:
            np.add.at(found, key, source)
    return np.asarray(found.reshape(x.shape), x.dtype)


def numpy_scatter_reduce(x: Array, source: Array, dim: int, index: Array, how: str, include_self: bool) -> Array:
    """Reduce ``source`` into ``x`` at ``index``: "sum", "prod", "mean", "amax" or "amin"."""
    found = np.array(_lifted(x), order="C")
    rows = expanded_rows(found.shape, dim, index) if how in ("sum", "mean") and source.size >= _MANY else None
    if rows is not None and source.size >= _FEWEST * len(rows):
        with quiet():
            return np.asarray(_sums_of_rows(wide(found), wide(source), rows, how == "mean", include_self, x.dtype), x.dtype)
    if index.size:
        index, source = _lifted(index), wide(_lifted(source))
        found, places = wide(found), row_places(found.shape, dim, index).reshape(-1)
        counts = np.ones(found.shape, found.dtype)
        if not include_self:
            found.reshape(-1)[places] = _start(how, found.dtype)
            counts.reshape(-1)[places] = 0
        with quiet():
            _HOW[how].at(found.reshape(-1), places, source.reshape(-1))
            if how == "mean":
                np.add.at(counts.reshape(-1), places, np.ones((), found.dtype))
                found, counts = found.astype(x.dtype), counts.astype(x.dtype)  # the sum is rounded, too
                found = found // counts if found.dtype.kind in "iu" else found / counts
    with quiet():
        return np.asarray(found.reshape(x.shape), x.dtype)


def _sums_of_rows(found: Array, source: Array, rows: Array, mean: bool, include_self: bool, kind: np.dtype[Any]) -> Array:
    """Add rows of ``source`` to the rows ``rows`` of ``found``, which is overwritten; ``kind`` is the dtype of the result."""
    if not include_self:
        found[rows] = 0
    add_rows(found, rows, source)
    if not mean:
        return found
    counts = np.bincount(rows, minlength=len(found))
    counts = np.maximum(counts + include_self, 1).astype(found.dtype).astype(kind).reshape(-1, *(1,) * (found.ndim - 1))
    found = found.astype(kind)  # the sum is rounded, too
    return found // counts if kind.kind in "iu" else found / counts


def _start(how: str, kind: np.dtype[Any]) -> float:
    if how in ("amax", "amin"):
        low, high = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
        return low if how == "amax" else high
    return 1 if how == "prod" else 0


define_host("scatter", numpy_scatter, _ADDED)
_PUT, _VIA = tuple(name for name in ALL if name != "bool"), {"bool": "uint8"}
define_host("put", numpy_put, _PUT, _VIA)
define_host("index_write", numpy_index_write, _PUT, _VIA)
define_host("scatter_reduce", numpy_scatter_reduce, (*FLOATS, *INTS, *COMPLEX, *HALF), {"bool": "int32"})
