"""Sorting on the host: sort, topk, searchsorted."""
from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..table import define_host
from ._few import sort_loosely
from ._order import SHORT, sort_rows, stable_order
from ._select import kth_of_rows, top_of_rows

_KINDS = ("float32", "float64", "uint8", "int8", "int16", "int32", "int64", "uint64", "bool")
_WIDE = {"float16": "float32", "bfloat16": "float32", "uint16": "int32", "uint32": "int64"}


def numpy_argsort(x: Array, dim: int, descending: bool, stable: bool) -> Array:
    """Return the indices of a sort, int64; NaN is largest. Unless ``stable``, equal elements are in torch's order."""
    if not x.size or not x.ndim:
        return np.zeros(x.shape, np.int64)
    if stable or x.shape[dim] <= SHORT:
        return np.asarray(stable_order(x, dim, descending), np.int64, order="C")
    rows, lead = _rows(x, dim)
    return _shaped(sort_rows(rows, descending), lead, dim)


def _rows(x: Array, dim: int) -> tuple[Array, tuple[int, ...]]:
    """Return the array as contiguous rows along ``dim`` (count, length), and the shape of the other dimensions."""
    moved = x if dim in (-1, x.ndim - 1) else np.moveaxis(x, dim, -1)
    return np.ascontiguousarray(moved).reshape(-1, x.shape[dim]), moved.shape[:-1]


def _shaped(found: Array, lead: tuple[int, ...], dim: int) -> Array:
    """Undo ``_rows``: return the indices found for each row in the original order of dimensions, int64."""
    found = found.reshape(*lead, -1)
    return np.asarray(found if dim in (-1, len(lead)) else np.moveaxis(found, -1, dim), np.int64, order="C")


def numpy_topk_indices(x: Array, k: int, dim: int, largest: bool, in_order: bool) -> Array:
    """Return the indices of the ``k`` largest (or smallest) elements; NaN counts as largest."""
    if not x.size or not x.ndim or not k:
        return np.zeros([k if d == dim % x.ndim else n for d, n in enumerate(x.shape)], np.int64)
    rows, lead = _rows(x, dim)
    return _shaped(top_of_rows(rows, k, largest, in_order), lead, dim)


def numpy_kth_index(x: Array, k: int, dim: int) -> Array:
    """Return the index of the ``k``-th smallest element (``k`` counts from 0); ``dim`` is kept with length 1."""
    if not x.size or not x.ndim:
        return np.zeros([1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)], np.int64)
    rows, lead = _rows(x, dim)
    return _shaped(kth_of_rows(rows, k), lead, dim)


def numpy_loose_order(x: Array, dim: int) -> Array:
    """Return the indices of torch's sort with a comparison that is False for NaN, as in ``mode``; with NaN the result is not fully sorted.
    """
    rows, lead = _rows(x, dim)
    order = sort_rows(rows, False)
    loose = np.flatnonzero(np.isnan(rows).any(-1))
    order[loose] = [sort_loosely(row) for row in rows[loose].tolist()]
    return _shaped(order, lead, dim)


def _halved(sequence: Array, values: Array, right: bool) -> Array:
    """Return the insertion points that torch's search by halves ends at: it goes on behind a middle element that is NaN."""
    rows = sequence.reshape(-1, sequence.shape[-1])
    sought = values.reshape(len(rows), -1)
    low, high = np.zeros(sought.shape, np.int64), np.full(sought.shape, rows.shape[1])
    for _ in range(rows.shape[1].bit_length()):
        middle = (low + high) // 2
        passed = np.take_along_axis(rows, np.minimum(middle, rows.shape[1] - 1), 1)
        behind = (low < high) & ~(passed > sought if right else passed >= sought)
        low, high = np.where(behind, middle + 1, low), np.where(behind, high, middle)
    return np.asarray(low.reshape(values.shape))


def numpy_searchsorted(sequence: Array, values: Array, right: bool) -> Array:
    """Return the insertion points of values in sorted sequences along the last dimension, int64."""
    if not values.size or not sequence.size:
        return np.zeros(values.shape, np.int64)
    if sequence.dtype.kind == "f" and np.isnan(sequence[..., -1]).any():
        return _halved(sequence, values, right)
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side), np.int64)  # type: ignore[call-overload]
    found = np.empty(values.shape, np.int64)
    for place in np.ndindex(*sequence.shape[:-1]):
        found[place] = np.searchsorted(sequence[place], values[place], side)  # type: ignore[call-overload]
    return found


define_host("argsort", numpy_argsort, _KINDS, _WIDE)
define_host("topk_indices", numpy_topk_indices, _KINDS, _WIDE)
define_host("kth_index", numpy_kth_index, _KINDS, _WIDE)
define_host("searchsorted", numpy_searchsorted, _KINDS, {"float16": "float32", "bfloat16": "float32"})
