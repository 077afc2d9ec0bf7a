"""Indexing on Ascend: gather, scatter, padding and strided views."""
from __future__ import annotations

import math
from typing import Any

from ..constants import table_cast, table_of
from ..geometry import contiguous_strides, inverse_order
from ..kernels._nodes import constant
from ..kernels.padding import _positions
from ..raw import MS_DTYPE, NAME_OF, Raw, raw_dtype
from ..table import CHANGES, HALVES
from ..tape import tracing
from ._primitives import dense, enter, enters, rounds, run, scatter_add

Sizes = tuple[int, ...]
BOOL = MS_DTYPE["bool"]


def _permute(x: Raw, order: Sizes) -> Raw:
    return x if order == tuple(range(len(order))) else run("Transpose", x, order)


def with_first(rank: int, dims: Sizes) -> Sizes:
    """Return a permutation that moves ``dims`` to the front."""
    return (*dims, *(d for d in range(rank) if d not in dims))


@enters("index")
def _index(x: Raw, dims: Sizes, indices: tuple[Raw, ...], common: Sizes, adjacent: bool) -> Raw:
    """Index with arrays: the indexed dimensions are moved to the front; if the indices were adjacent, the result's index dimensions are
    moved back to their place.
    """
    if len(dims) == 1 and dims[0] and len(common) == 1 and indices[0].dtype != BOOL:
        return run("IndexSelect", x, dims[0], _counted_from_front(indices[0], x.shape[dims[0]]))  # the 910B rejects Index for x[:, i]
    taken = run("Index", _permute(x, with_first(len(x.shape), dims)), indices)
    lead, width, rest = dims[0], len(common), len(x.shape) - len(dims)
    if adjacent and lead:
        taken = _permute(taken, (*range(width, width + lead), *range(width), *range(width + lead, width + rest)))
    return taken


def _counted_from_front(index: Raw, size: int) -> Raw:
    """Wrap negative indices."""
    return run("Select", run("Less", index, constant(0, index)), run("AddExt", index, constant(size, index), 1), index)


@enters("linear_index")
def _linear_index(first: Raw, shape: Sizes, dims: Sizes, indices: tuple[Raw, ...], common: Sizes, adjacent: bool) -> Raw:
    """Return the flat positions of the elements that index tensors select: the sum of index times stride over the indexed dimensions, and
    of ranges over the others."""
    steps = contiguous_strides(shape)
    total: Any = None
    for d, index in zip(dims, indices):
        place = _counted_from_front(index, shape[d])
        place = place if steps[d] == 1 else run("Mul", place, constant(steps[d], place))
        total = place if total is None else run("AddExt", total, place, 1)
    rest = [d for d in range(len(shape)) if d not in dims]
    lead = [d for d in rest if d < dims[0]] if adjacent else []
    wide = (*(shape[d] for d in lead), *common, *(shape[d] for d in rest if d not in lead))
    if tuple(total.shape) != common:
        total = run("BroadcastTo", total, at=(common,))
    total = run("Reshape", total, (*(1,) * len(lead), *common, *(1,) * (len(rest) - len(lead))))
    for group in _runs(rest):
        count = math.prod(shape[d] for d in group)
        if count > 1:
            ordered = run("Arange", 0, count * steps[group[-1]], steps[group[-1]], MS_DTYPE["int64"])
            total = run("AddExt", total, run("Reshape", ordered, _broadcastable_shape(group, shape, lead, rest, common)), 1)
    return total if tuple(total.shape) == wide else run("BroadcastTo", total, at=(wide,))


def _runs(dims: list[int]) -> list[list[int]]:
    """Group the given dimensions into runs of consecutive dimensions."""
    found: list[list[int]] = []
    for d in dims:
        if found and found[-1][-1] == d - 1:
            found[-1].append(d)
        else:
            found.append([d])
    return found


def _broadcastable_shape(group: list[int], shape: Sizes, lead: list[int], rest: list[int], common: Sizes) -> Sizes:
    """Return the shape of a range over the dimensions ``group`` that broadcasts against a result of shape (lead, common, rest): ``common``
    and all dimensions outside ``group`` have length 1."""

    def lengths(dims: list[int]) -> list[int]:
        return [shape[d] if d in group else 1 for d in dims]

    return (*lengths(lead), *(1,) * len(common), *lengths([d for d in rest if d not in lead]))


def _change_put(x: Raw, source: Raw, index: Raw, accumulate: bool) -> None:
    run("InplacePut", x, index, source, accumulate)


def _change_index_put(x: Raw, source: Raw, indices: tuple[Raw, ...], accumulate: bool) -> None:
    run("InplaceIndexPut", x, indices, source, accumulate)


def _change_index_write(x: Raw, source: Raw, dim: int, index: Raw, accumulate: bool) -> None:
    if accumulate:
        run("InplaceIndexAddExt", x, dim, index, source, 1)
    else:
        run("InplaceIndexCopy", x, dim, index, source)


@enters("scatter")
def _scatter(x: Raw, source: Raw, dim: int, index: Raw, how: str) -> Raw:
    if how in ("none", "update"):
        return run("Scatter", x, dim, index, source, "none")
    if how == "add":
        if not x.shape:  # the primitive does not accept 0-d tensors
            target, places, values = (run("Reshape", part, (1,)) for part in (x, index, source))
            return run("Reshape", scatter_add(target, dim, places, values), ())
        return scatter_add(x, dim, index, source)
    return run("Scatter", x, dim, index, source, how)


@enters("put")
def _put(x: Raw, source: Raw, index: Raw, accumulate: bool) -> Raw:
    if tracing() is not None:  # a graph has no form of InplacePut
        flat, places, values = (run("Reshape", part, (-1,)) for part in (x, index, source))
        places = run("Select", run("Less", places, constant(0, places)), run("AddExt", places, constant(x.size, places), 1), places)
        found = scatter_add(flat, 0, places, values) if accumulate else run("Scatter", flat, 0, places, values, "none")
        return run("Reshape", found, tuple(x.shape))
    target = run("Clone", x)
    run("InplacePut", target, index, source, accumulate)
    return target


@enters("index_write")
def _index_write(x: Raw, source: Raw, dim: int, index: Raw, accumulate: bool) -> Raw:
    if not x.size:
        return run("Clone", x)
    if accumulate:
        return run("IndexAddExt", x, dim, index, source, 1)
    target = run("Clone", x)
    run("InplaceIndexCopy", target, dim, index, source)
    return target


@enters("pad")
def _pad(x: Raw, pads: Sizes, value: float) -> Raw:
    if not rounds(x, value):
        return run("ConstantPadND", x, tuple(pads), value)
    inside = run("ConstantPadND", run("OnesLike", x), tuple(pads), 0.0)
    return run("Select", run("Cast", inside, MS_DTYPE["bool"]), run("ConstantPadND", x, tuple(pads), 0.0), constant(value, x))


@enters("pad_like")
def _pad_like(x: Raw, pads: Sizes, mode: str) -> Raw:
    """Pad by the device's kernel for one to three dimensions of a batch, else by index along each dimension."""
    count = len(pads) // 2
    named = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}.get(mode)
    if named and min(pads) >= 0 and len(x.shape) == count + 2:
        return run(f"{named}{count}D", x, tuple(pads))
    rank = len(x.shape)
    for i in range(count):
        axis = rank - 1 - i
        before, after = pads[2 * i], pads[2 * i + 1]
        if mode == "circular" and (before < 0 or after < 0):
            x = run("SliceExt", x, axis, max(-before, 0), x.shape[axis] - max(-after, 0), 1)
            before, after = max(before, 0), max(after, 0)
        if before or after:
            x = run("IndexSelect", x, axis, _positions(x.shape[axis], before, after, mode))
    return x


@enters("pick_along")
def _pick_along(x: Raw, positions: Any, axis: int) -> Raw:
    return run("IndexSelect", x, axis, positions if isinstance(positions, Raw) else table_of(positions, "int64"))


@enters("im2col")
def _im2col(x: Raw, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, out: Sizes) -> Raw:
    """Return the unfolded windows as a strided view of the padded memory: the 910B rejects Im2Col."""
    if x.size == 0:
        return run("Zeros", (x.shape[0], x.shape[1] * kernel[0] * kernel[1], out[0] * out[1]), x.dtype)
    if any(padding):
        x = run("ConstantPadND", x, (padding[1], padding[1], padding[0], padding[0]), 0)
    rows = dense(x)
    images, channels, height, width = rows.shape
    shape = (images, channels, *kernel, *out)
    strides = (channels * height * width, height * width, width * dilation[0], dilation[1], width * stride[0], stride[1])
    shown = run("Contiguous", run("AsStrided", rows, shape, strides, rows.storage_offset()))
    return run("Reshape", shown, (images, channels * kernel[0] * kernel[1], out[0] * out[1]))


@enters("col2im")
def _col2im(x: Raw, sizes: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes, blocks: Sizes) -> Raw:
    return run("Col2ImExt", x, sizes, kernel, dilation, padding, stride)


@enters("along")
def _along(x: Raw, matrix: Any, taps: Any, axis: int) -> Raw:
    """Return the matrix product of ``x`` along ``axis`` with ``matrix`` (n, m): the axis's length n becomes m."""
    order = (*(i for i in range(len(x.shape)) if i != axis), axis)
    computed = MS_DTYPE["float32"] if NAME_OF[raw_dtype(x)] in HALVES else x.dtype  # rounded once, as elsewhere
    weights = matrix if isinstance(matrix, Raw) else table_of(matrix, NAME_OF[computed])
    rows = x if computed == x.dtype else run("Cast", x, computed)
    if weights.dtype != computed:
        weights = table_cast(weights, NAME_OF[computed], lambda: run("Cast", weights, computed))
    product = _permute(run("MatMulExt", _permute(rows, order), weights), inverse_order(order))
    return product if computed == x.dtype else run("Cast", product, x.dtype)


enter("gather", "GatherD")
enter("index_select", "IndexSelect")
enter("take", "Take")
enter("nonzero", "NonZero")
CHANGES.update({"put": _change_put, "index_put": _change_index_put, "index_write": _change_index_write})

