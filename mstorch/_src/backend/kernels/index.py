"""Indexing and slicing kernels."""
from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import mint, ops

from ..cast import cast
from ..geometry import inverse_order
from ..raw import ON_CPU, Raw, from_numpy, scalar
from ..table import ALL, BUT_BFLOAT16, VIA_BFLOAT16, define
from ..tape import grad_mode, tracing
from ._nodes import node
from .reduce import constant, of_nothing
from .views import ops_permute as _transpose
from .views import ops_reshape as _reshape

_gather = ops.Gather()
_strided_slice = ops.StridedSlice()
_gather_dim = ops.GatherD()
_nonzero = ops.NonZero()
_segment_sum = ops.UnsortedSegmentSum()
_add = ops.Add()
_mul = ops.Mul()
_less = ops.Less()
_select = ops.Select()


def _entries_backward(gradient: Raw, result: Raw, raw: Raw, index: Raw, dim: int) -> Raw:
    shape = tuple(raw.shape)
    if raw.size == 0 or index.size == 0:
        return constant(gradient, shape, 0)
    order = (dim, *(d for d in range(len(shape)) if d != dim))
    if dim:
        wide = len(index.shape)
        # Move the index's dimensions to the front.
        lead = (*range(dim, dim + wide), *range(dim), *range(dim + wide, len(gradient.shape)))
        gradient = _transpose(gradient, lead)
    flat = _reshape(gradient, (index.size, *(shape[d] for d in order[1:])))
    total = _segment_sum(flat, cast(_reshape(index, (-1,)), "int32"), shape[dim])
    return _transpose(total, inverse_order(order)) if dim else total


# Gather's own gradient ends in a Transpose, which loses its second derivative if the input is used twice (2.10).
entries = node("IndexSelectBackward", _gather, _entries_backward, _gather)


def _recorded(raw: Raw) -> bool:
    return not ON_CPU or tracing() is not None or (grad_mode.enabled and raw._requires_grad)


def _every_nth(raw: Raw, dim: int, step: int) -> Raw:
    """Return every ``step``-th entry of a dimension; not differentiable."""
    shape = raw.shape
    if raw.size == 0:
        return _reshape(raw, tuple(-(-n // step) if d == dim else n for d, n in enumerate(shape)))
    steps = tuple(step if d == dim else 1 for d in range(len(shape)))
    return _strided_slice(raw, (0,) * len(shape), tuple(shape), steps)


def ops_slice(raw: Raw, dim: int, start: int, stop: int, step: int) -> Raw:
    """Slice ``raw[…, start:stop:step, …]`` in one dimension.

    mint.narrow is a view that takes 3 µs, but its backward fails on the CPU (InplaceCopy into a view, MindSpore 2.7.2 to 2.10): if a
    gradient is needed, StridedSlice is used.
    """
    shape = raw.shape
    if not _recorded(raw):
        part = mint.narrow(raw, dim, start, stop - start)
        return part if step == 1 else _every_nth(part, dim, step)
    if start >= stop or raw.size == 0:
        return of_nothing(raw, (*shape[:dim], len(range(start, stop, step)), *shape[dim + 1 :]), 0)
    if step != 1:
        # StridedSliceGrad raises "memory out of bounds" for steps above 1 (2.7.2 to 2.10).
        return entries(raw, from_numpy(np.arange(start, stop, step, dtype=np.int64)), dim)
    begin, end = [0] * len(shape), list(shape)
    begin[dim], end[dim] = start, stop
    return _strided_slice(raw, tuple(begin), tuple(end), (1,) * len(shape))


def ops_select(raw: Raw, dim: int, index: int) -> Raw:
    """Select entry ``index`` of a dimension; implemented like ``ops_slice``."""
    if not _recorded(raw):
        return mint.select(raw, dim, index)
    shape = raw.shape
    return _reshape(ops_slice(raw, dim, index, index + 1, 1), (*shape[:dim], *shape[dim + 1 :]))


def _flat_positions(sizes: tuple[int, ...], indices: tuple[Raw, ...], common: tuple[int, ...]) -> Raw:
    """Return flat row-major positions for broadcast index tensors in dimensions of ``sizes``; negative indices wrap."""
    if ON_CPU and tracing() is None:
        flat = np.zeros(common, np.int64)
        for size, index in zip(sizes, indices):
            values = index.asnumpy()
            flat = flat * size + np.where(values < 0, values + size, values)
        return from_numpy(np.ascontiguousarray(flat))
    total = None
    for size, index in zip(sizes, indices):
        length = scalar(size, "int64")
        wrapped = _select(_less(index, scalar(0, "int64")), _add(index, length), index)
        total = wrapped if total is None else _add(_mul(total, length), wrapped)
    return mint.broadcast_to(total, common)


def composed_index(raw: Raw, dims: tuple[int, ...], indices: tuple[Raw, ...], common: tuple[int, ...], adjacent: bool) -> Raw:
    """Index ``raw`` with tensors in ``dims``; if these dimensions are adjacent, the index's dimensions take their place."""
    shape = tuple(raw.shape)
    rest = tuple(d for d in range(len(shape)) if d not in dims)
    positions = _flat_positions(tuple(shape[d] for d in dims), indices, common)
    kept = tuple(shape[d] for d in rest)
    if positions.size == 0 or raw.size == 0:
        out_shape = (*kept[: dims[0]], *common, *kept[dims[0] :]) if adjacent else (*common, *kept)
        return of_nothing(raw, out_shape, 0)
    order = dims + rest
    if order != tuple(range(len(shape))):
        raw = _transpose(raw, order)
    count = 1
    for d in dims:
        count *= shape[d]
    raw = _reshape(raw, (count, *kept))
    taken = entries(raw, positions, 0)
    if adjacent and dims[0] > 0:
        lead, width = dims[0], len(common)
        order = (*range(width, width + lead), *range(width), *range(width + lead, width + len(kept)))
        taken = _transpose(taken, order)
    return taken


def composed_linear_index(
    first: Raw, shape: tuple[int, ...], dims: tuple[int, ...], indices: tuple[Raw, ...], common: tuple[int, ...], adjacent: bool
) -> Raw:
    """Return the flat positions, in a tensor of ``shape``, of the elements that ``composed_index`` selects."""
    every = from_numpy(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))
    return composed_index(every, dims, indices, common, adjacent)


def ops_gather_dim(raw: Raw, dim: int, index: Raw) -> Raw:
    """Gather along ``dim``: ``out[i][j] = raw[index[i][j]][j]`` for ``dim`` 0; the index is int64 and within bounds."""
    if index.size == 0:
        return of_nothing(raw, tuple(index.shape), 0)
    if not raw.shape or not index.shape:
        return _reshape(gather_along(_reshape(raw, (-1,)), 0, _reshape(index, (-1,))), tuple(index.shape))
    return gather_along(raw, dim, index)


def dim_positions(shape: tuple[int, ...], dim: int, index: Raw) -> Raw:
    """Return the flat positions, as a column, that gather and scatter reach through ``index`` in a tensor of ``shape``."""
    step, inner = 1, 1
    lead: Any = np.zeros((), np.int64)
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            inner = step
        else:
            lead = lead + (np.arange(index.shape[d]) * step).reshape((-1,) + (1,) * (len(shape) - 1 - d))
        step *= shape[d]
    if ON_CPU and tracing() is None:
        return from_numpy(np.ascontiguousarray(lead + index.asnumpy() * inner, np.int64).reshape(-1, 1))
    along = _mul(index, from_numpy(np.array(inner, np.int64)))
    return _reshape(_add(along, from_numpy(np.broadcast_to(lead, index.shape).astype(np.int64))), (-1, 1))


def _gather_backward(gradient: Raw, result: Raw, raw: Raw, dim: int, index: Raw) -> Raw:
    if raw.size == 0 or index.size == 0:
        return constant(gradient, tuple(raw.shape), 0)
    # TensorScatterElements is not used: it adds from several threads at once and loses additions (MindSpore 2.10).
    positions = cast(_reshape(dim_positions(tuple(raw.shape), dim, index), (-1,)), "int32")
    return _reshape(_segment_sum(_reshape(gradient, (-1,)), positions, raw.size), tuple(raw.shape))


# GatherD's own gradient cannot be differentiated again (MindSpore 2.10: "The pointer[value] is null").
gather_along = node("GatherBackward", _gather_dim, _gather_backward, _gather_dim)


def ops_index_select(raw: Raw, dim: int, index: Raw) -> Raw:
    """Select the entries ``index`` (1-d, int64, within bounds) of a dimension."""
    if index.size == 0 or raw.size == 0:
        return of_nothing(raw, (*raw.shape[:dim], index.size, *raw.shape[dim + 1 :]), 0)
    return entries(raw, index, dim)


def composed_storage_gather(raw: Raw, index: Raw) -> Raw:
    """Gather elements at flat positions ``index`` (int64, any shape, within bounds)."""
    return entries(_reshape(raw, (-1,)), index, 0)


def composed_take(raw: Raw, index: Raw) -> Raw:
    """Take elements at flat positions, which may be negative."""
    if index.size == 0:
        return of_nothing(raw, tuple(index.shape), 0)
    places = _reshape(_flat_positions((raw.size,), (index,), tuple(index.shape)), tuple(index.shape))
    return entries(_reshape(raw, (-1,)), places, 0)


def ops_nonzero(raw: Raw) -> Raw:
    """Return the indices of true elements of a bool tensor, (count, dimensions), int64."""
    if not raw.shape:
        return from_numpy(np.zeros((int(bool(raw.asnumpy())), 0), np.int64))
    if raw.size == 0:
        return from_numpy(np.zeros((0, len(raw.shape)), np.int64))
    return _nonzero(raw)


define("slice", cpu=ops_slice, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("select", cpu=ops_select, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("index", cpu=composed_index, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("linear_index", cpu=composed_linear_index, dtypes=ALL)
define("gather", cpu=ops_gather_dim, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("index_select", cpu=ops_index_select, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("storage_gather", cpu=composed_storage_gather, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("take", cpu=composed_take, dtypes=BUT_BFLOAT16, via=VIA_BFLOAT16)
define("nonzero", cpu=ops_nonzero, dtypes=("bool",))
