"""Order on the host: sorting, largest elements, searching in sorted sequences."""
from __future__ import annotations

import numpy as np

from ..table import define_host
from ._order import first_places, kth_place, sorted_places

_KINDS = ("float32", "float64", "uint8", "int8", "int16", "int32", "int64")
_WIDE = {"float16": "float32", "bfloat16": "float32", "uint16": "int32", "uint32": "int64"}


def _ranked(rows: np.ndarray, descending: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Indices that sort rows, any among equal ones, and the ranks of the elements (equal ones have one), or None if none are equal."""
    # NumPy sorts short integers by their digits if it sorts stably, and the others faster if it need not.
    order = rows.argsort(-1, kind="stable" if rows.dtype.itemsize < 4 else None)
    flat = order + np.arange(0, rows.size, rows.shape[1])[:, None] if len(rows) > 1 else order
    values = rows.ravel()[flat]
    equal = values[:, 1:] == values[:, :-1]
    if rows.dtype.kind == "f" and np.isnan(values[:, -1]).any():
        equal |= np.isnan(values[:, :-1])
    if descending:
        order = order[:, ::-1]
    if not np.count_nonzero(equal):
        return order, None
    ranks = np.zeros(rows.shape, np.int32)
    steps = np.cumsum(~equal, -1, dtype=np.int32)
    ranks.reshape(-1)[flat[:, 1:]] = steps
    return order, steps[:, -1:] - ranks if descending else ranks


def _rows(x: np.ndarray, dim: int) -> np.ndarray:
    if x.ndim == 1:
        return x[None]
    return np.ascontiguousarray(np.moveaxis(x, dim, -1)).reshape(-1, x.shape[dim])


def _unrowed(found: np.ndarray, x: np.ndarray, dim: int) -> np.ndarray:
    if x.ndim == 1:
        return np.array(found[0], np.int64, order="C")
    shape = [n for d, n in enumerate(x.shape) if d != dim % x.ndim]
    return np.array(np.moveaxis(found.reshape(*shape, found.shape[-1]), -1, dim), np.int64, order="C")


def numpy_argsort(x: np.ndarray, dim: int, descending: bool, stable: bool) -> np.ndarray:
    """The indices that sort, int64; NaN counts as larger than every number. Unless ``stable``, equal elements lie as torch leaves them."""
    if not x.size or not x.ndim:
        return np.zeros(x.shape, np.int64)
    long = x.ndim == 1 and len(x) >= 32768 and x.dtype.kind in "iu" and not descending  # torch sorts these by their digits
    if not stable and not long and x.shape[dim] > 16:  # up to there torch inserts, which is stable
        rows = _rows(x, dim)
        order, ranks = _ranked(rows, descending)
        if ranks is not None:
            tied = (ranks.max(-1) < rows.shape[1] - 1).nonzero()[0]
            order[tied] = sorted_places(ranks[tied])
        return _unrowed(order, x, dim)
    if descending:
        # Sorting the reversed sequence and reversing the result keeps equal elements in order.
        backward = (*[slice(None)] * (dim % x.ndim), slice(None, None, -1))
        order = np.subtract(x.shape[dim] - 1, x[backward].argsort(dim, kind="stable")[backward])
    else:
        order = x.argsort(dim, kind="stable")
    return np.asarray(order, np.int64, order="C")


def numpy_topk_indices(x: np.ndarray, k: int, dim: int, largest: bool, sort: bool) -> np.ndarray:
    """The indices of the ``k`` largest (or smallest) elements, in order or as torch finds them; NaN counts as larger than every number."""
    if not x.ndim:
        return np.zeros((), np.int64) if k else np.zeros(0, np.int64)
    if not x.size or not k:
        return np.zeros([k if d == dim % x.ndim else n for d, n in enumerate(x.shape)], np.int64)
    rows = _rows(x, dim)
    count = rows.shape[1]
    if not sort and 64 * k > count:  # in the order that the selection leaves, whatever is equal
        return _unrowed(first_places(_all_ranks(rows, largest), k, False), x, dim)
    if count >= 64 and 4 * k <= count and not (x.dtype.kind == "f" and np.isnan(rows).any()):
        order = _reversed_order(rows) if largest else rows
        part = np.argpartition(order, k - 1, -1)[:, :k]
        values = np.take_along_axis(order, part, -1)
        by_value = values.argsort(-1)
        found, values = np.take_along_axis(part, by_value, -1), np.take_along_axis(values, by_value, -1)
        tied = (values[:, 1:] == values[:, :-1]).any(-1) | (
            np.count_nonzero(order == values[:, -1:], -1) > np.count_nonzero(values == values[:, -1:], -1)
        )
    else:
        found, ranks = _ranked(rows, largest)
        if ranks is None:
            return _unrowed(found[:, :k], x, dim)
        first = np.sort(ranks, -1)[:, : k + 1]
        found, tied = found[:, :k], (first[:, 1:] == first[:, :-1]).any(-1)
    if tied.any():
        found[tied] = first_places(_all_ranks(rows[tied], largest), k, True)
    return _unrowed(found, x, dim)


def _all_ranks(rows: np.ndarray, descending: bool) -> np.ndarray:
    order, ranks = _ranked(rows, descending)
    return order.argsort(-1).astype(np.int32) if ranks is None else ranks


def numpy_kth_index(x: np.ndarray, k: int, dim: int) -> np.ndarray:
    """The index of the ``k``-th smallest element along ``dim``, which stays with length 1."""
    if not x.size or not x.ndim:
        return np.zeros([1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)] if x.ndim else (), np.int64)
    rows = _rows(x, dim)
    order, ranks = _ranked(rows, False)
    found = order[:, k - 1 : k]
    if ranks is not None:
        at = np.take_along_axis(ranks, found, -1)
        for row in np.flatnonzero(np.count_nonzero(ranks == at, -1) > 1).tolist():
            found[row] = kth_place(ranks[row], k - 1)
    return _unrowed(found, x, dim)


def _reversed_order(x: np.ndarray) -> np.ndarray:
    """Numbers in whose order the largest come first; of integers the complement, which cannot overflow."""
    return -x if x.dtype.kind == "f" else ~x


def numpy_searchsorted(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """Where the values would stand in sorted sequences along the last dimension, int64."""
    if not values.size or not sequence.size:
        return np.zeros(values.shape, np.int64)
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side), np.int64)  # type: ignore[call-overload]
    found = np.empty(values.shape, np.int64)
    for place in np.ndindex(*sequence.shape[:-1]):
        found[place] = np.searchsorted(sequence[place], values[place], side)  # type: ignore[call-overload]
    return found


define_host("argsort", numpy_argsort, (*_KINDS, "bool"), _WIDE)
define_host("argsort_double", numpy_argsort, ("float64", "uint64"))
define_host("topk_indices", numpy_topk_indices, _KINDS, _WIDE)
define_host("searchsorted", numpy_searchsorted, (*_KINDS, "bool"), {"float16": "float32", "bfloat16": "float32"})
