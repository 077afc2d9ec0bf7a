"""Order on the host: sorting, largest elements, searching in sorted sequences."""
from __future__ import annotations

import numpy as np

from ..table import define_host

_KINDS = ("float32", "float64", "uint8", "int8", "int16", "int32", "int64")
_WIDE = {"float16": "float32", "bfloat16": "float32", "bool": "uint8", "uint16": "int32", "uint32": "int64"}


def numpy_argsort(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The indices of a stable sort, int64; NaN counts as larger than every number."""
    if not x.size or not x.ndim:
        return np.zeros(x.shape, np.int64)
    if descending:
        # Sorting the reversed sequence and reversing the result keeps equal elements in order.
        backward = (*[slice(None)] * (dim % x.ndim), slice(None, None, -1))
        order = np.subtract(x.shape[dim] - 1, x[backward].argsort(dim, kind="stable")[backward])
    else:
        order = x.argsort(dim, kind="stable")
    return np.asarray(order, np.int64, order="C")


def numpy_topk_indices(x: np.ndarray, k: int, dim: int, largest: bool) -> np.ndarray:
    """The indices of the ``k`` largest (or smallest) elements in order; NaN counts as larger than every number."""
    count = x.shape[dim] if x.ndim else 1
    if not x.size or not x.ndim or count < 64 or 4 * k > count or (x.dtype.kind == "f" and np.isnan(x).any()):
        order = numpy_argsort(x, dim, largest)
        return np.array(order[(*[slice(None)] * (dim % order.ndim), slice(k))] if order.ndim else order.reshape(1)[:k], order="C")
    if not k:
        return np.zeros([k if d == dim else n for d, n in enumerate(x.shape)], np.int64)
    rows = np.moveaxis(x, dim, -1)
    order = rows if not largest else _reversed_order(rows)
    # The k-th decides: all below it count, and of those equal to it the first, as many as are left.
    bound = np.partition(order, k - 1, -1)[..., k - 1 : k]
    below, equal = order < bound, order == bound
    chosen = below | (equal & (np.cumsum(equal, -1) <= k - below.sum(-1, keepdims=True)))
    places = np.nonzero(chosen)[-1].reshape(*rows.shape[:-1], k)
    values = np.take_along_axis(order, places, -1)
    found = np.take_along_axis(places, np.argsort(values, -1, kind="stable"), -1)
    return np.array(np.moveaxis(found, -1, dim), np.int64, order="C")


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


define_host("argsort", numpy_argsort, _KINDS, _WIDE)
define_host("topk_indices", numpy_topk_indices, _KINDS, _WIDE)
define_host("searchsorted", numpy_searchsorted, (*_KINDS, "bool"), {"float16": "float32", "bfloat16": "float32"})
