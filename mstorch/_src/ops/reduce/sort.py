"""Sorting, largest elements, medians, quantiles, modes."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array
from ...backend.errors import not_for
from ...backend.host._select import first_selected
from ...backend.host.sort import numpy_loose_order
from ...backend.table import kernel
from ...core.dtype import bool_, by_name, float32, float64, int32, int64
from ...core.formats import contiguous_format
from ...core.tensor_base import TensorBase, array_of, is_tracked, recording, strides_of, tensor_of, touch
from ...quiet import quiet
from ...tape import composite
from ...tape.moving import beside
from ...tape.node import refuse_history
from ...tape.ways import in_arrays, ways
from ...tape.whole import in_one_piece, record
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import (
    call,
    cast_tensor,
    deliver,
    expect_out_dtype,
    finish,
    finish_recorded,
    readable,
    type_word,
    whole,
    wrap_dim,
)
from .._named import call_node, node_called
from .._operation import operation
from .._overlaps import refuse_overlap, refuse_partly, refuse_parts
from .._parts import expect_parts
from .._two_forms import ABSENT, of_all
from ..elementwise.compare import eq, isnan, where
from ..elementwise.elementwise import div
from ..indexing.index import gather, keep_layout
from ..memory.creation import arange
from ..shape import views
from ..shape.join import cat
from ._values_at import values_at, without_dim
from .reduce import max, min
from .scan import cummax

_argsort = kernel("argsort")
_topk = kernel("topk_indices")
_kth = kernel("kth_index")


@ways(host=lambda input: input.detach() if input._ms_dtype is bool_ else None)  # the sorting kernels support it
def _sortable(input: TensorBase) -> TensorBase:
    """Return the input detached and in a dtype that sorting kernels support."""
    wider = _WIDER.get(input._ms_dtype.name)
    if wider is not None:
        return cast_tensor(input.detach(), by_name(wider))
    return input.detach() if input._ms_node is not None or is_tracked(input) else input


def _order(input: TensorBase, dim: int, descending: bool, stable: bool = True) -> TensorBase:
    """Return the indices of a sort."""
    if input._ms_dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    return call(_argsort, (_sortable(input),), dim, descending, stable)


def _refuse_unsigned(input: TensorBase) -> None:
    if input._ms_dtype.name in _UNSIGNED:
        raise not_for("parallel_sort1d_kernel", input._ms_dtype.name)


@ways(host=_refuse_unsigned)
def _refuse_digits(input: TensorBase) -> None:
    """Raise torch's error for integer dtypes that torch cannot radix-sort on the CPU."""


def _sorted_order(input: TensorBase, dim: int, descending: bool, stable: bool) -> TensorBase:
    """Return the indices of a sort as torch computes it. It is also stable for an expanded dimension, and for a long vector of integers in
    ascending order, which torch sorts by radix sort."""
    shape = input._ms_shape
    if input._ms_stride is not None and shape and not input._ms_stride[dim]:
        stable = True
    if len(shape) == 1 and shape[0] >= _BY_DIGITS and not descending and input._ms_dtype.category == 1:
        _refuse_digits(input)
        stable = True
    return _order(input, dim, descending, stable)


def _loose_order_of_no_numbers(input: TensorBase, dim: int) -> TensorBase | None:
    if not input._ms_dtype.is_floating_point or not bool(isnan(input.detach()).any()):
        return None
    return tensor_of(numpy_loose_order(array_of(_sortable(input)), dim))


@ways(host=_loose_order_of_no_numbers)
def _loose_order(input: TensorBase, dim: int) -> TensorBase:
    """Return the indices of an unstable sort that places NaNs as torch's CPU kernel does."""
    return _order(input, dim, False, False)


_BY_DIGITS = 32768


_WIDER = {"float16": "float32", "bfloat16": "float32", "bool": "uint8", "uint16": "int32", "uint32": "int64"}


def _expect_kinds(name: str, input: TensorBase, out: TensorBase | None) -> None:
    """Raise torch's error unless ``out`` (None, or values and indices) has the results' dtypes."""
    expect_parts(name, out)
    if out is not None:
        expect_out_dtype(out[0], input._ms_dtype)
        expect_out_dtype(out[1], int64)


@operation(numpy_names=True)
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool | None = False, *, out: Any = None) -> Any:
    """Return the values sorted along ``dim``, and their indices. With ``stable``, equal elements keep their order; NaN is the largest
    value.
    """
    axis = wrap_dim(dim, len(input._ms_shape))
    _expect_kinds("sort", input, out)
    refuse_parts(out, input, input._ms_shape)
    indices = _sorted_order(input, axis, bool(descending), bool(stable))
    shown = keep_layout(input, indices)
    if out is not None and _is_one_element(out[0], input) and not recording((input, *out)):
        deliver(shown, out[1])  # as in torch, which copies and sorts nothing if there is one element at most
        touch(input)
        found: Any = return_types.sort((input, shown))
        return found._written(out)
    values = values_at(input, axis, indices, "SortBackward0", shown)
    return finish(return_types.sort((keep_layout(input, values), shown)), out)


def _is_one_element(target: TensorBase, input: TensorBase) -> bool:
    """Return whether two tensors are the same view, with strides of 0, of a single element."""
    own, other = strides_of(target), strides_of(input)
    same = target._ms_storage is input._ms_storage and target._ms_offset == input._ms_offset
    same = same and target._ms_shape == input._ms_shape and own == other
    return same and not any(own) and any(length > 1 for length in target._ms_shape)


@operation(numpy_names=True)
def argsort(
    input: TensorBase, dim: int = -1, descending: bool = False, stable: bool = False, *, out: TensorBase | None = None
) -> TensorBase:
    """Return the indices that sort the values along ``dim``."""
    order = _sorted_order(input, wrap_dim(dim, len(input._ms_shape)), bool(descending), bool(stable))
    return finish(keep_layout(input, order), out)


def msort(input: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the values sorted along the first dimension."""
    expect_out_dtype(out, input._ms_dtype)
    refuse_partly(out, input)
    return finish(sort(input, 0)[0], out)


@operation(numpy_names=True)
@node_called("TopkBackward0")
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """Return the ``k`` largest (or smallest) values along ``dim`` and their indices: in order, unless ``sorted`` is False."""
    shape = input._ms_shape
    dim, k = wrap_dim(whole(dim), len(shape)), whole(k)
    if not 0 <= k <= (shape[dim] if shape else 1):
        raise RuntimeError("selected index k out of range")
    _expect_kinds("topk", input, out)
    refuse_parts(out, input)
    if input._ms_dtype is bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if input._ms_dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    _refuse_kinds("topk_cpu", input)
    if not shape:
        indices = beside(tensor_of(_zeros(())), input)
        found = return_types.topk((values_at(input, 0, indices, "TopkBackward0", indices), indices))
    else:
        target = (*shape[:dim], k, *shape[dim + 1 :])
        if 0 in target:
            indices = beside(tensor_of(_zeros(target)), input)
        else:
            indices = call(_topk, (_sortable(input),), k, dim, bool(largest), bool(sorted))
        found = return_types.topk((values_at(input, dim, indices, "TopkBackward0", indices), indices))
    return finish(found, out)


def _zeros(shape: tuple[int, ...]) -> Array:
    return np.zeros(shape, np.int64)


def _picked(input: TensorBase, dim: int, indices: TensorBase, keepdim: bool, kind: type[Any]) -> Any:
    """Return values and indices, given one index per row (``dim`` has length 1)."""
    keepdim = keepdim or not indices._ms_shape
    shown = indices if keepdim else without_dim(indices, dim)
    return kind((values_at(input, dim, indices, _LABELS[kind], shown, keepdim), shown))


_LABELS = {
    return_types.kthvalue: "KthvalueBackward0", return_types.median: "MedianBackward1",
    return_types.nanmedian: "NanmedianBackward1", return_types.mode: "ModeBackward0",
}  # fmt: skip


_UNSIGNED = ("uint16", "uint32", "uint64")


def _refuse_kinds(kernel_: str, input: TensorBase, *others: str) -> None:
    """Raise torch's error for dtypes that torch's selection kernels do not support."""
    name = input._ms_dtype.name
    if input._ms_dtype.is_complex or name in _UNSIGNED or name in others:
        raise not_for(kernel_, input._ms_dtype.name)


def _shape_without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """Return the shape with length 1 along a dimension."""
    return (*shape[:dim], 1, *shape[dim + 1 :]) if shape else shape


def _check_rows(name: str, shape: tuple[int, ...], dim: int) -> None:
    if shape and shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


@operation(numpy_names=True)
def kthvalue(
    input: TensorBase, k: int, dim: int = -1, keepdim: bool = False, *, out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return the ``k``-th smallest value along ``dim`` and its index."""
    shape = input._ms_shape
    dim, k = wrap_dim(dim, len(shape)), whole(k)
    _check_rows("kthvalue", shape, dim)
    if not 1 <= k <= (shape[dim] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    expect_parts("kthvalue", out)
    if out is not None:
        refuse_overlap(out[0], input)
        if out[0]._ms_dtype is not input._ms_dtype:
            raise RuntimeError("output values must be of same type as input")
        if out[1]._ms_dtype is not int64:
            raise RuntimeError("output indices must be of scalar type Long")
    if shape:
        _refuse_kinds("kthvalue_cpu", input, "bool")
    return finish(_picked(input, dim, call(_kth, (_sortable(input),), k - 1, dim), keepdim, return_types.kthvalue), out)


def _median_in_array(input: TensorBase, ignore_nan: bool) -> TensorBase | None:
    """Return the lower median of all elements, of which there are some; None for dtypes that NumPy does not sort."""
    line = array_of(input).reshape(-1)
    if line.dtype.kind not in "iuf":
        return None
    missing = np.isnan(line) if line.dtype.kind == "f" else np.zeros(1, bool)
    if missing.any():
        line = line[~missing] if ignore_nan and not missing.all() else line[missing][:1]
    middle = (line.size - 1) // 2
    return tensor_of(np.asarray(np.partition(line, middle)[middle]))


@ways(host=_median_in_array)
def _median_value(input: TensorBase, ignore_nan: bool) -> TensorBase:
    found: TensorBase = _median(views.reshape(input.detach(), (-1,)), 0, False, ignore_nan, None)[0]
    return found


def _equal_to(median: TensorBase, input: TensorBase) -> TensorBase:
    """Return which elements equal the median; NaN equals NaN."""
    return where(isnan(median), isnan(input), eq(input, median))


def _median_in_graph(input: TensorBase, ignore_nan: bool) -> TensorBase:
    """Return the median as the mean of the elements that equal it: a graph is differentiated operation by operation."""
    found = _median_value(input, ignore_nan)
    if not input._ms_dtype.is_floating_point:
        return found
    chosen = _equal_to(found, input.detach())
    return div(where(chosen, input, 0.0).sum(), chosen.to(input._ms_dtype).sum())


@ways(captured=_median_in_graph)
def _median_of_all(input: TensorBase, ignore_nan: bool) -> TensorBase:
    """Return the median of all elements; equal elements share its gradient, as do all NaNs if the median is NaN."""
    found = _median_value(input, ignore_nan)
    if not recording((input,)):
        return found
    refuse_history(found._ms_dtype)
    value = readable(found)
    none, below = value is not None and bool(found.isnan()), value is not None and bool(found < 0)

    def composed(x: TensorBase) -> TensorBase:
        inside = x.detach()
        chosen = isnan(inside) if none else eq(inside, found)
        # The filler must not equal a median: -inf would share the gradient of -inf.
        return min(where(chosen, x, math.inf)) if below else max(where(chosen, x, -math.inf))

    def slope(g: Array, x: Array) -> tuple[Array]:
        chosen = np.isnan(x) if none else x == array_of(found)
        return (np.asarray(chosen * (g / x.dtype.type(float(chosen.sum()))), x.dtype),)

    label = "NanmedianBackward0" if ignore_nan else "MedianBackward0"
    if value is None:
        return composite.record(label, _share_of_the_median, (input,), (found,))[0]
    if not in_one_piece((input,)):
        return call_node(composed(input), label)
    record(found, (input,), label, slope, composed, True)
    return found


def _share_of_the_median(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[TensorBase]:
    """Return the gradient of a median of all elements, without reading the median's value on the host."""
    (g,), (found,), (input,) = gradients, outputs, inputs
    chosen = _equal_to(found, input.detach())
    return (where(chosen, div(g, chosen.to(g._ms_dtype).sum()), 0.0),)


_NAN_AS_INTEGER = {bool_: True, int32: -(2**31), int64: -(2**63)}  # the result of casting NaN to the dtype on usual processors; others: 0


def _median(input: TensorBase, dim: Any, keepdim: Any, ignore_nan: bool, out: Any) -> Any:
    name = "nanmedian" if ignore_nan else "median"
    dim = None if of_all(name, dim, keepdim) else dim
    keepdim = keepdim is not ABSENT and keepdim
    kind = return_types.nanmedian if ignore_nan else return_types.median
    shape = input._ms_shape
    if dim is not None:
        _check_rows("median", shape, wrap_dim(dim, len(shape)))  # nanmedian too
    if dim is not None or 0 not in shape:
        _refuse_kinds("median_cpu" if dim is None else "median_out", input, "bool")
    if dim is None:
        if math.prod(shape) == 0:
            if input._ms_node is not None or input.requires_grad:
                return input.sum() + math.nan  # autograd tracks a dependency on the input
            if input._ms_dtype.is_integral:
                return input.new_full((), _NAN_AS_INTEGER.get(input._ms_dtype, 0))
            return input.new_full((), math.nan)
        return finish(_median_of_all(input, ignore_nan), out)
    dim = wrap_dim(dim, len(shape))
    expect_parts(name, out)
    if out is not None and out[1]._ms_dtype is not int64:
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have scalar type Long; but got {out[1].type()} instead (while checking "
            "arguments for median)"
        )
    if out is not None and out[0]._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {out[0].type()} does not "
            f"equal {input.type()} (while checking arguments for median)"
        )
    refuse_parts(out, input, _shape_without(shape, dim))
    length = shape[dim] if shape else 1
    order = _order(input, dim, False)
    if not shape:
        return finish(_picked(input, dim, order, keepdim, kind), out)
    middle = (length - 1) // 2
    if input._ms_dtype.is_integral:
        place = None
    elif in_arrays(input, order):
        chosen = tensor_of(_median_places(array_of(input), array_of(order), dim, ignore_nan))
        return finish(_picked(input, dim, chosen, keepdim, kind), out)
    else:
        nan = input.detach().isnan()
        count = nan.sum(dim, True)
        if ignore_nan:
            place = (length - 1 - count).clamp(min=0).div(2, rounding_mode="floor")
            place = place.masked_fill(count == length, first_selected(length))
        else:
            # With a NaN in the row the result is the first NaN, which follows the numbers.
            place = (length - count).masked_fill(count == 0, middle)
    if place is None:
        chosen = views.slice_dim(order, dim, middle, middle + 1, 1).clone(memory_format=contiguous_format)
    else:
        chosen = gather(order, dim, place)
    return finish(_picked(input, dim, chosen, keepdim, kind), out)


def _median_places(x: Array, order: Array, dim: int, ignore_nan: bool) -> Array:
    """Return the place of each row's median, given the order of the rows; NaN follows the numbers."""
    length = x.shape[dim]
    with quiet():
        count = np.isnan(x).sum(dim, dtype=np.int64, keepdims=True)
    if ignore_nan:
        place = np.maximum(length - 1 - count, 0) // 2
        place[count == length] = first_selected(length)
    else:
        place = np.where(count == 0, (length - 1) // 2, length - count)
    return np.take_along_axis(order, place, dim)


@operation(numpy_names=True)
def median(input: TensorBase, dim: int = ABSENT, keepdim: bool = ABSENT, *, out: tuple[TensorBase, TensorBase] | None = None) -> Any:
    """Return the lower median of all elements, or along ``dim`` with its index; NaN if an element is NaN."""
    return _median(input, dim, keepdim, False, out)


@operation(numpy_names=True)
def nanmedian(
    input: TensorBase, dim: int = ABSENT, keepdim: bool = ABSENT, *, out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return the median of the elements that are not NaN."""
    return _median(input, dim, keepdim, True, out)


@operation(numpy_names=True)
def mode(input: TensorBase, dim: int = -1, keepdim: bool = False, *, out: tuple[TensorBase, TensorBase] | None = None) -> Any:
    """Return the most frequent value along ``dim`` (the smallest if there are several), and the index of its last occurrence."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    _check_rows("mode", shape, dim)
    expect_parts("mode", out)
    for word, target, kind in zip(("values", "indices"), out or (), (input._ms_dtype, int64)):
        if target._ms_dtype is not kind:
            raise RuntimeError(f"expected scalar type '{type_word(kind)}' but got '{type_word(target._ms_dtype)}' for {word} output")
    refuse_parts(out, input, _shape_without(shape, dim))
    if shape and 0 not in shape:
        _refuse_kinds("mode_cpu", input)
    if not shape or 0 in shape:
        order = _order(input, dim, False) if not shape else input.new_zeros(
            tuple(1 if d == dim else n for d, n in enumerate(shape)), dtype=int64
        )
        return finish(_picked(input, dim, order, keepdim, return_types.mode), out)
    order = _loose_order(input, dim)
    values = gather(input.detach(), dim, order)
    length = shape[dim]
    place = views.reshape(arange(length, device=input.device), (1,) * dim + (length,) + (1,) * (len(shape) - dim - 1))
    if length > 1:
        ahead = views.slice_dim(values, dim, 1, length, 1)
        behind = views.slice_dim(values, dim, 0, length - 1, 1)
        starts = cat((views.slice_dim(values, dim, 0, 1, 1) == views.slice_dim(values, dim, 0, 1, 1), ahead != behind), dim)
        starts.index_fill_(dim, arange(1, device=input.device), True)
    else:
        starts = values == values
        starts.fill_(True)
    start = cummax(place * starts, dim)[0]
    run = place - start
    best = run.max(dim, True)[1]
    return finish(_picked(input, dim, gather(order, dim, best), keepdim, return_types.mode), out)


def _quantile(
    input: TensorBase, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool, out: TensorBase | None
) -> TensorBase:
    name = "nanquantile" if ignore_nan else "quantile"
    if not isinstance(q, TensorBase):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        q = input.new_full((), q) if input._ms_dtype.is_floating_point else q
    _check_quantile(name, input, q, interpolation)
    shape = input._ms_shape
    whole = dim is None
    rank = len(shape)
    dim = wrap_dim(0 if whole else dim, 1 if whole else rank)
    rows = views.reshape(input, (-1,)) if whole or not shape else views.movedim(input, dim, -1)
    ordered = sort(rows)[0]
    points = views.reshape(q, (-1,))
    count_q = points._ms_shape[0]
    ranks = _ranks(ordered, points, ignore_nan)
    if interpolation in _ROUNDED:
        ranks = _ROUNDED[interpolation](ranks)
    below = ranks.detach().to(int64)
    result = gather(ordered, -1, below)
    is_between = interpolation not in _ROUNDED
    if is_between:
        weight = ranks - below if interpolation == "linear" else ranks.new_full(ranks._ms_shape, 0.5)
        above = gather(ordered, -1, ranks.detach().ceil().to(int64))
        result = result.lerp(above, weight)
    result = views.movedim(result, -1, 0) if result._ms_shape else result
    # The quantiles' dimension comes first; the reduced dimension is removed, or kept with length 1.
    if keepdim:
        if whole:
            result = views.reshape(result, (count_q, *(1,) * rank))
        elif shape:
            result = views.unsqueeze(result, dim + 1)
    if not q._ms_shape:
        result = views.squeeze(result, 0)
    if out is None:  # the number of writes that torch needs
        result._ms_counter.version += (3 if q._ms_shape else 1) + is_between
    return finish_recorded(result, out, "quantile() out tensor must be same dtype as the input tensor")


_ROUNDED: dict[str, Callable[[TensorBase], TensorBase]] = {
    "lower": lambda ranks: ranks.floor(), "higher": lambda ranks: ranks.ceil(), "nearest": lambda ranks: ranks.round(),
}  # fmt: skip


def _check_quantile(name: str, input: TensorBase, q: Any, interpolation: str) -> None:
    if interpolation not in ("linear", "midpoint", *_ROUNDED):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if math.prod(input._ms_shape) == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input._ms_dtype not in (float32, float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if len(q._ms_shape) > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q._ms_dtype is not input._ms_dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    values = readable(q)
    if values is not None and not ((values >= 0) & (values <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


def _ranks(ordered: TensorBase, points: TensorBase, ignore_nan: bool) -> TensorBase:
    """Return where the quantiles lie in sorted rows, of which NaNs are the end; a row with one gives NaN unless they are ignored."""
    nan = ordered.detach().isnan()
    if ignore_nan:
        return points * (nan.logical_not().sum(-1, True).to(ordered._ms_dtype) - 1).clamp(min=0.0)
    last, wide = ordered._ms_shape[-1] - 1, (*ordered._ms_shape[:-1], points._ms_shape[0])
    return views.expand(points * last, wide).masked_fill(views.expand(nan.any(-1, True), wide), float(last))


@operation(numpy_names=True, autocast=FLOAT32_ON_CPU)
def quantile(
    input: TensorBase, q: TensorBase | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
    out: TensorBase | None = None
) -> TensorBase:
    """Return the quantiles ``q`` (a number or a vector in [0, 1]) of all elements, or along ``dim``; a slice with NaN gives NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, False, out)


@operation(numpy_names=True, autocast=FLOAT32_ON_CPU)
def nanquantile(
    input: TensorBase, q: TensorBase | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
    out: TensorBase | None = None
) -> TensorBase:
    """Return the quantiles of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True, out)
