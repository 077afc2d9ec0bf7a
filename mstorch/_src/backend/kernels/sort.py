"""Sorting kernels: sort, topk, searchsorted."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import ops

from ..cast import cast
from ..host import sort as host
from ..raw import MS_DTYPE, NAME_OF, Raw, from_numpy
from ..table import HALVES, INTS, VIA_SMALL_INT, define
from ._nodes import prim_neg, prim_select
from .reduce import constant, has_nan
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_SORT: dict[tuple[int, bool], Any] = {}
_gather_dim = ops.GatherD()
_topk = ops.TopK(True)
_not_equal = ops.NotEqual()
_invert = ops.Invert()
_SEARCH = {right: ops.SearchSorted(MS_DTYPE["int64"], right) for right in (False, True)}


def _sorted(raw: Raw, dim: int, descending: bool) -> Raw:
    """Return the indices of a stable sort, int32. MindSpore's Sort is stable in both directions, but places NaN arbitrarily (2.10)."""
    prim = _SORT.get((dim, descending))
    if prim is None:
        prim = _SORT[dim, descending] = ops.Sort(dim, descending)
    return prim(raw)[1]


def ops_argsort(raw: Raw, dim: int, descending: bool, stable: bool) -> Raw:
    """Return the indices of a stable sort; NaN counts as largest."""
    if raw.size == 0 or not raw.shape:
        return from_numpy(np.zeros(raw.shape, np.int64))
    if not has_nan(raw):
        return cast(_sorted(raw, dim, descending), "int64")
    nan = _not_equal(raw, raw)
    first = _sorted(prim_select(nan, constant(raw, tuple(raw.shape), np.inf), raw), dim, descending)
    second = _sorted(_gather_dim(cast(nan, "int32"), dim, first), dim, descending)
    return cast(_gather_dim(first, dim, second), "int64")


def cpu_argsort(raw: Raw, dim: int, descending: bool, stable: bool) -> Raw:
    """Return the indices of a stable sort on the CPU, by NumPy for float64 and uint64, which MindSpore's Sort does not handle correctly."""
    if NAME_OF[raw.dtype] in ("float64", "uint64"):
        return from_numpy(host.numpy_argsort(raw.asnumpy(), dim, descending, stable))
    return ops_argsort(raw, dim, descending, stable)


def cpu_kth_index(raw: Raw, k: int, dim: int) -> Raw:
    """Return the index of the ``k``-th smallest element (``k`` counts from 0) in a stable sort; ``dim`` is kept with length 1."""
    return _part(cpu_argsort(raw, dim, False, True), dim, k)


def ops_kth_index(raw: Raw, k: int, dim: int) -> Raw:
    """Return the index of the ``k``-th smallest element (``k`` counts from 0), by primitives only."""
    return _part(ops_argsort(raw, dim, False, True), dim, k)


def _part(order: Raw, dim: int, k: int) -> Raw:
    return order if not order.shape else order.narrow(dim, k, 1)


def ops_topk_indices(raw: Raw, k: int, dim: int, largest: bool, in_order: bool) -> Raw:
    """Return the indices of the ``k`` largest (or smallest) elements in order; NaN counts as largest."""
    shape = tuple(raw.shape)
    if has_nan(raw):
        order = (cpu_argsort if NAME_OF[raw.dtype] == "float64" else ops_argsort)(raw, dim, largest, True)
        return from_numpy(np.ascontiguousarray(np.take(order.asnumpy(), range(k), dim)))
    if not largest:
        raw = prim_neg(raw) if NAME_OF[raw.dtype] in ("float32", "float64") else _invert(raw)
    last = len(shape) - 1
    if dim == last:
        return cast(_topk(raw, k)[1], "int64")
    swap = list(range(len(shape)))
    swap[dim], swap[last] = last, dim
    return cast(_transpose(_topk(_transpose(raw, tuple(swap)), k)[1], tuple(swap)), "int64")


def ops_searchsorted(sequence: Raw, values: Raw, right: bool) -> Raw:
    """Return the insertion points of values in sorted sequences along the last dimension, int64."""
    if values.size == 0 or sequence.size == 0:
        return from_numpy(np.zeros(values.shape, np.int64))
    if not values.shape:
        return _reshape(_SEARCH[right](sequence, _reshape(values, (1,))), ())
    return _SEARCH[right](sequence, values)


def numpy_lexicographic_order(raw: Raw) -> Raw:
    """Return the indices that sort the rows of a matrix lexicographically, int64."""
    array = raw.asnumpy()
    keys = tuple(array[:, i] for i in range(array.shape[1] - 1, -1, -1))
    return from_numpy(np.ascontiguousarray(np.lexsort(keys) if keys else np.arange(array.shape[0]), np.int64))


_WIDE = {"float16": "float32", "bfloat16": "float32", "bool": "uint8", "uint16": "int32", "uint32": "int64"}
_KINDS = ("float32", "float64", "uint64", *INTS)
_BY_FLOATS = "Sort orders float64 by float32 values on CPU (MindSpore 2.10)"
define("argsort", cpu=cpu_argsort, dtypes=_KINDS, via=_WIDE, numpy_reason=_BY_FLOATS)
define("topk_indices", cpu=ops_topk_indices, dtypes=("float32", "float64", *INTS), via=_WIDE)
define("kth_index", cpu=cpu_kth_index, dtypes=_KINDS, via=_WIDE, numpy_reason=_BY_FLOATS)
define(
    "searchsorted", cpu=ops_searchsorted, dtypes=("float32", "float64", "int8", "int16", "int32", "int64"),
    via={**dict.fromkeys(HALVES, "float32"), **VIA_SMALL_INT, "bool": "int32", "uint16": "int32", "uint32": "int64"},
)  # fmt: skip
define(
    "lexicographic_order", cpu=numpy_lexicographic_order,
    numpy_reason="MindSpore sorts by one key; a sort by each column in turn would cost as many sorts",
)  # fmt: skip
