"""Counting: unique values, bins, histograms, membership, searches in sorted sequences."""
from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array, Number, extremes, within
from ...backend.errors import not_for
from ...backend.geometry import contiguous_strides
from ...backend.table import kernel
from ...core.dtype import bool_, float32, float64, iinfo, int8, int32, int64, uint8
from ...core.one_device import OneDevice
from ...core.strides import normalize
from ...core.tensor_base import TensorBase, array_of, in_order, meta_tensor, tensor_of
from ...core.warned import warn_once
from ...tape.composite import refuse
from ...tape.moving import beside
from ...tape.operands import computed
from ...tape.ways import in_arrays, values_if_any, ways
from ...tape.windows import no_view
from .._dispatch import (
    call,
    cpp_word,
    expect_out_dtype,
    finish,
    is_number,
    refuse_codes,
    result_dtype,
    type_word,
    wrap_dim,
)
from .._forms import SELF, Forms
from .._fresh_out import all_underivable, underivable
from .._memory_order import row_major
from .._operation import operation
from ..elementwise.compare import where
from ..indexing.index import gather, index_select, nonzero
from ..memory.creation import linspace
from ..memory.from_data import tensor
from ..shape import views
from ..shape.join import cat, stack
from .reduce import aminmax
from .scan import cumsum, diff
from .sort import sort

_searchsorted = kernel("searchsorted")
_segment_sum = kernel("segment_sum")
_count = kernel("count_positions")
_lexicographic = kernel("lexicographic_order")


def _numbers(count: int) -> TensorBase:
    return tensor_of(np.arange(count, dtype=np.int64))


def _groups(starts: TensorBase, count: int) -> tuple[Any, Any, Any]:
    """Return the start of each run of equal elements, the number of each element's run, and the length of each run."""
    places = views.reshape(nonzero(starts), (-1,))
    group = cumsum(starts, 0) - 1
    lengths = diff(cat((places, places.new_full((1,), count))))
    return places, group, lengths


def _starts(changes: TensorBase) -> TensorBase:
    return cat((changes.new_ones((1,), dtype=bool_), changes))


def _given(values: TensorBase, inverse: TensorBase | None, counts: TensorBase, return_inverse: bool, return_counts: bool) -> Any:
    found = [no_view(values)]
    if return_inverse:
        found.append(no_view(inverse))
    if return_counts:
        found.append(counts)
    return tuple(found) if len(found) > 1 else found[0]


def unique(
    input: TensorBase, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the sorted unique elements (or slices along ``dim``); on request also the position of each element among them, and their
    counts.
    """
    if input._ms_dtype.is_complex:
        raise not_for("unique", input._ms_dtype.name)
    if dim is not None:
        return _unique_entries(input, dim, return_inverse, return_counts, True)
    source, input = input, input.detach()
    shape = input._ms_shape
    flat = views.reshape(input, (math.prod(shape),))
    count = flat._ms_shape[0]
    if count == 0:
        nothing = flat.new_empty((0,), dtype=int64)
        nowhere = views.reshape(nothing, shape)
        chosen = refuse("Unique2Backward0", "_unique2", source, row_major(flat.clone()))
        return _given(chosen, nowhere, nothing.clone(), return_inverse, return_counts)
    values, order = sort(flat, stable=flat._ms_dtype.is_integral)  # equal integers cannot be told apart
    if in_arrays(values, order):
        found, group, counts = map(tensor_of, _unique_of_sorted(array_of(values), array_of(order) if return_inverse else None))
        chosen, inverse = refuse("Unique2Backward0", "_unique2", source, found), views.reshape(group, shape) if return_inverse else None
        return _given(chosen, inverse, counts, return_inverse, return_counts)
    starts = _starts(views.slice_dim(values, 0, 1, count, 1) != views.slice_dim(values, 0, 0, count - 1, 1))
    places, group, lengths = _groups(starts, count)
    inverse = views.reshape(group.scatter(0, order, group), shape) if return_inverse else None
    chosen = refuse("Unique2Backward0", "_unique2", source, index_select(values, 0, places))
    return _given(chosen, inverse, lengths, return_inverse, return_counts)


def _unique_of_sorted(values: Array, order: Array | None) -> tuple[Array, Array, Array]:
    """Return the unique numbers of sorted ones, the place of each element among them (nothing without their order), and their counts."""
    changes = np.empty(len(values), np.bool_)
    changes[0] = True
    np.not_equal(values[1:], values[:-1], changes[1:])
    starts = np.flatnonzero(changes)
    inverse = np.empty(0 if order is None else len(values), np.int64)
    if order is not None:
        inverse[order] = np.cumsum(changes, dtype=np.int64) - 1
    return values[starts], inverse, np.diff(starts, append=len(values)).astype(np.int64, copy=False)


def _order_with_nan(rows: Array) -> Array:
    """Return the order in which torch.unique_dim sorts rows with NaN: every comparison with NaN is False."""

    def compare(first: int, second: int) -> int:
        for one, other in zip(rows[first], rows[second]):
            if one < other or one > other:
                return -1 if one < other else 1
        return 0

    return np.array(builtins.sorted(builtins.range(len(rows)), key=functools.cmp_to_key(compare)), np.int64)


def _entry_by_entry(shape: tuple[int, ...], dim: int) -> tuple[int, ...] | None:
    """Return the strides of a dense tensor in which each slice along ``dim`` is contiguous."""
    if not shape:
        return None
    inner = list(contiguous_strides((*shape[:dim], *shape[dim + 1 :])))
    inner.insert(dim, math.prod(shape) // max(shape[dim], 1))
    return normalize(shape, tuple(inner))


def _unique_entries(input: TensorBase, dim: int, return_inverse: bool, return_counts: bool, ordered: bool) -> Any:
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    count = shape[dim] if shape else 1
    label, op = ("UniqueDimBackward0", "unique_dim") if ordered else ("UniqueDimConsecutiveBackward0", "unique_dim_consecutive")
    source, input = input, input.detach()
    if 0 in shape:
        if any(length == 0 for d, length in enumerate(shape) if d != dim):
            if count != 0:
                raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
            raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
        nothing = input.new_empty((0,), dtype=int64)
        return _given(refuse(label, op, source, input.clone()), nothing, nothing.clone(), return_inverse, return_counts)
    rows = views.movedim(input, dim, 0) if shape else views.reshape(input, (1,))
    rows = views.reshape(rows, (count, -1))
    if not ordered:
        order = _numbers(count)
    elif input._ms_dtype.is_floating_point and bool(rows.ne(rows).any()):
        order = tensor_of(_order_with_nan(array_of(rows.double())))
    else:
        order = computed(_lexicographic, rows)
    arranged = index_select(rows, 0, order)
    changes = (views.slice_dim(arranged, 0, 1, count, 1) != views.slice_dim(arranged, 0, 0, count - 1, 1)).any(1)
    places, group, lengths = _groups(_starts(changes), count)
    inverse = group.scatter(0, order, group) if return_inverse else None
    found = index_select(input, dim, index_select(order, 0, places))
    chosen = refuse(label, op, source, in_order(found, _entry_by_entry(found._ms_shape, dim)))
    return _given(chosen, inverse, lengths, return_inverse, return_counts)


def unique_consecutive(
    input: TensorBase, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return each run of equal elements (or slices along ``dim``) once; on request also the number of each element's run, and the lengths
    of the runs.
    """
    if dim is not None:
        return _unique_entries(input, dim, return_inverse, return_counts, False)
    source, input = input, input.detach()
    label, op = "UniqueConsecutiveBackward0", "unique_consecutive"
    shape = input._ms_shape
    flat = views.reshape(input, (math.prod(shape),))
    count = flat._ms_shape[0]
    if count == 0:
        nothing = flat.new_empty((0,), dtype=int64)
        return _given(
            refuse(label, op, source, flat.clone()), views.reshape(nothing, shape), nothing.clone(), return_inverse, return_counts
        )
    starts = _starts(views.slice_dim(flat, 0, 1, count, 1) != views.slice_dim(flat, 0, 0, count - 1, 1))
    places, group, lengths = _groups(starts, count)
    chosen = refuse(label, op, source, index_select(flat, 0, places))
    return _given(chosen, views.reshape(group, shape), lengths, return_inverse, return_counts)


@operation(one_device=OneDevice("_bincount"))
def bincount(input: TensorBase, weights: TensorBase | None = None, minlength: int = 0) -> TensorBase:
    """Return how often each integer from 0 to the maximum occurs in a vector, or the sum of its weights."""
    if input._ms_dtype.category != 1:
        raise not_for("bincount_cpu", input._ms_dtype.name)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    shape = input._ms_shape
    if shape == (0,):
        return input.new_zeros((minlength,), dtype=int64)
    array = array_of(input)
    if len(shape) != 1 or int(array.min()) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._ms_shape != shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    count = max(int(array.max()) + 1, minlength)
    positions = input.to(int64)
    if weights is None:
        return call(_count, (positions,), count)
    kind = float32 if weights._ms_dtype is float32 else float64
    sums = call(_segment_sum, (weights.detach(),), positions, count, dtype=kind)
    return underivable("aten::bincount", weights, sums)


@operation(forms=Forms({"self": "input"}), one_device=OneDevice("Tensor_searchsorted"))
def searchsorted(
    sorted_sequence: TensorBase, input: TensorBase | float, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: TensorBase | None = None, out: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the indices at which values would be inserted in sequences sorted along the last dimension: before equal elements, or after
    them with ``right``.
    """
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if not isinstance(input, TensorBase):
        input = sorted_sequence.new_tensor(input) if sorted_sequence._ms_dtype.is_floating_point else tensor(input)
    own = input._ms_shape
    _check_boundaries(sorted_sequence._ms_shape, own)
    if sorter is not None:
        _check_sorter(sorter, sorted_sequence._ms_shape)
        sorted_sequence = gather(sorted_sequence, -1, sorter)
    for name, value in (("input value", input), ("boundary", sorted_sequence)):
        if value._ms_stride is not None and not value.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to extra data copy when "
                f"converting non-contiguous tensor to contiguous, please use contiguous {name} tensor if possible. This message will "
                "only appear once per program."
            )
    if out is not None and out._ms_dtype is not (int32 if out_int32 else int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
            f"out_int32 flag is True, but we got output tensor's dtype {type_word(out._ms_dtype)} and out_int32 flag is {out_int32}"
        )
    kind = result_dtype((sorted_sequence, input))  # numbers that do not fit the dtype wrap, as in torch
    ordered = kind is not bool_ and not kind.is_complex
    if not ordered and 0 not in own:
        raise not_for("searchsorted_out_cpu", kind.name)
    operands, after = (sorted_sequence.detach(), input.detach()), right or side == "right"
    places = call(_searchsorted, operands, after, dtype=kind) if ordered else input.new_empty(own, dtype=int64)
    return finish(places.to(int32) if out_int32 else places, out)


def _check_boundaries(shape: tuple[int, ...], own: tuple[int, ...]) -> None:
    """Raise RuntimeError unless there is one sequence, or one for each row of the values."""
    if len(shape) == 1:
        return
    if not own:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(shape)}) and input value's dim(0) numel(1)"
        )
    if shape[:-1] != own[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(shape)} and input value tensor {list(own)}"
        )


def _check_sorter(sorter: TensorBase, shape: tuple[int, ...]) -> None:
    if sorter._ms_shape != shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(shape)}and got sorter tensor {list(sorter._ms_shape)}"
        )
    if sorter._ms_dtype is not int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {type_word(sorter._ms_dtype)}"
        )
    places = values_if_any(sorter)
    if places is not None and not within(places, 0, shape[-1] - 1):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


@operation(forms=SELF, one_device=OneDevice("Tensor_bucketize"))
def bucketize(
    input: TensorBase | float, boundaries: TensorBase, *, out_int32: bool = False, right: bool = False, out: TensorBase | None = None
) -> TensorBase:
    """Return the index of the bucket between sorted boundaries that contains each value."""
    if len(boundaries._ms_shape) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries._ms_shape)})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@operation(forms=Forms({"element": "elements", "test_element": "test_elements"}))
def isin(
    elements: TensorBase | int, test_elements: TensorBase | int, *, assume_unique: bool = False, invert: bool = False,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return whether each element is in ``test_elements``."""
    kind = result_dtype((elements, test_elements))
    expect_out_dtype(out, bool_)
    for operand in (elements, test_elements):
        if operand._ms_dtype.category == 0 if isinstance(operand, TensorBase) else isinstance(operand, bool):
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
        if operand._ms_dtype.is_complex if isinstance(operand, TensorBase) else isinstance(operand, complex):
            word = type_word(operand._ms_dtype) if isinstance(operand, TensorBase) else "ComplexDouble"
            raise RuntimeError(f"Unsupported input type encountered for isin(): {word}")
    one = elements if isinstance(elements, TensorBase) else beside(tensor(elements), test_elements)
    other = test_elements if isinstance(test_elements, TensorBase) else beside(tensor(test_elements), elements)
    if 0 not in (*one._ms_shape, *other._ms_shape) and isinstance(elements, TensorBase) and isinstance(test_elements, TensorBase):
        refuse_codes("isin_default_cpu", one)
    one, other = one.detach().to(kind), views.reshape(other.detach().to(kind), (math.prod(other._ms_shape),))
    count = other._ms_shape[0]
    if count == 0 or one._ms_dtype.ms is None and 0 in one._ms_shape:
        found = one.new_full(one._ms_shape, bool(invert), dtype=bool_)
    elif count <= 8:
        found = views.unsqueeze(one, -1).eq(other).any(-1)
        found = found.logical_not() if invert else found
    else:
        ordered = sort(other)[0]
        place = searchsorted(ordered, one).clamp(max=count - 1)
        found = views.reshape(index_select(ordered, 0, views.reshape(place, (-1,))), one._ms_shape).eq(one)
        found = found.logical_not() if invert else found
    return finish(found, out)


def _range_of(values: TensorBase, low: float, high: float, name: str, widen: float) -> tuple[float, float]:
    """Return the range (low, high) of a histogram. If ``low`` equals ``high``, it is from the minimum to the maximum of the data; if these
    are equal too, it is widened by ``widen`` on both sides. Raise RuntimeError if it is not finite."""
    if low == high and 0 not in values._ms_shape:
        low, high = _ends_of(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{_short(low)}, {_short(high)}] is not finite")
    return (low - widen, high + widen) if low == high else (low, high)


@ways(device=lambda values: tuple(stack(aminmax(values)).tolist()))
def _ends_of(values: TensorBase) -> tuple[float, float]:
    """Return the minimum and the maximum of the values; both are NaN if a value is NaN."""
    array = array_of(values)
    least, greatest = extremes(array)
    return float(least), float(greatest)


def _short(value: float) -> str:
    return f"{value:g}"


def histc(input: TensorBase, bins: int = 100, min: Any = 0, max: Number = 0, *, out: TensorBase | None = None) -> TensorBase:
    """Return the number of elements in each of ``bins`` equal bins between ``min`` and ``max``; if these are equal, between the extremes of
    the data."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    _refuse_kind(input, min, max)
    words = "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {} and hist {}"
    if out is not None and out._ms_dtype is not input._ms_dtype:
        raise RuntimeError(words.format(cpp_word(input._ms_dtype), cpp_word(out._ms_dtype)))
    return _histogram(input, bins, min, max, out)


def _refuse_kind_on_device(input: TensorBase, min: float, max: float) -> bool:
    if input._ms_dtype is bool_ or input._ms_dtype.is_complex:
        raise not_for("histc", input._ms_dtype.name)
    return True


@ways(device=_refuse_kind_on_device)
def _refuse_kind(input: TensorBase, min: float, max: float) -> None:
    """Raise RuntimeError for a dtype that torch's kernel does not count; a device's counts integers too."""
    if not input._ms_dtype.is_floating_point:
        if input._ms_dtype in (uint8, int8) and min == max:  # torch widens the range before it checks the dtype
            low, high = _ends_of(input.detach()) if math.prod(input._ms_shape) else (0, 0)
            limits = iinfo(input._ms_dtype)
            if low == high and (low == limits.min or low == limits.max):
                raise RuntimeError(f"value cannot be converted to type {limits.dtype}_t without overflow")
        raise not_for("histogram_cpu", input._ms_dtype.name)
    refuse_codes("aminmax_cpu" if min == max else "linspace_cpu", input)


def _histogram_on_device(input: TensorBase, bins: int, min: float, max: float, out: TensorBase | None) -> TensorBase:
    values, kind = views.reshape(input.detach(), (-1,)), input._ms_dtype
    whole = not kind.is_floating_point
    if whole:
        values = values.to(int64)
    low, high = _range_of(values, int(min) if whole else min, int(max) if whole else max, "torch.histc", 1)
    span = high - low if whole else float(np.asarray(high - low).astype(kind.np))  # rounded to the dtype
    shares = ((values - low) * bins).div(span, rounding_mode="floor" if whole else None)
    if kind.itemsize == 2 and not whole:
        shares = shares.nan_to_num(0.0, 0.0, 0.0)  # what overflows in half precision counts in the first bin
    places = shares.to(int64).clamp(max=bins - 1)
    counted = where(values.ge(low).logical_and(values.le(high)), places, bins)  # what is outside counts in a bin of its own
    return finish(views.slice_dim(call(_count, (counted,), bins + 1), 0, 0, bins, 1).to(kind), out)


@ways(
    device=_histogram_on_device, absent=lambda input, bins, low, high, out: finish(meta_tensor((bins,), input._ms_dtype), out)
)
def _histogram(input: TensorBase, bins: int, min: float, max: float, out: TensorBase | None) -> TensorBase:
    values = views.reshape(input.detach(), (math.prod(input._ms_shape),))
    low, high = _range_of(values, min, max, "torch.histc", 1.0)
    ends = tensor_of(np.array([low, high, bins])).to(values._ms_dtype)
    wide, (least, most, _) = (array_of(part.to(float32) if part._ms_dtype is not float64 else part) for part in (values, ends))
    inside = tensor_of(wide[(wide >= least) & (wide <= most)]).to(values._ms_dtype)
    places = array_of((inside - ends[0]).mul_(ends[2]).div_(ends[1] - ends[0]).to(float64))  # halves are rounded at each step
    places = np.where(np.isfinite(places), places, 0.0).astype(np.int64)  # overflow in half precision counts in the first bin
    counts = call(_count, (tensor_of(np.minimum(places, bins - 1)),), bins)
    return finish(beside(counts.to(input._ms_dtype), input), out)


def histogram(
    input: TensorBase, bins: TensorBase | int = 100, *, range: Sequence[float] | None = None, weight: TensorBase | None = None,
    density: bool = False, out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return counts (or sums of weights) in bins, and the edges of the bins; ``bins`` is a number of equal bins, or their edges."""
    if out is not None and out[0]._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
            f"{cpp_word(input._ms_dtype)} and hist {cpp_word(out[0]._ms_dtype)}"
        )
    if out is not None and out[1]._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input "
            f"{cpp_word(input._ms_dtype)} and bin_edges {cpp_word(out[1]._ms_dtype)} for dimension 0"
        )
    if range is not None and len(range) != 2:
        raise RuntimeError(f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}")
    _check_weight(weight, input, (*input._ms_shape, 1))
    if isinstance(bins, TensorBase):
        if range is not None:
            raise TypeError("histogram() received an invalid combination of arguments: edges of bins have a range of their own")
        edges = bins.detach()
        _check_edges(edges, input, 0)
        if not input._ms_dtype.is_floating_point:
            raise not_for("histogram_cpu", input._ms_dtype.name)
    else:
        edges = _edges(input, bins, range, 0)
        if input._ms_dtype.itemsize == 2 and 0 not in input._ms_shape:
            raise not_for("histogramdd", input._ms_dtype.name)  # with edges of its own torch counts halves
    flat = views.reshape(input.detach(), (math.prod(input._ms_shape), 1))
    counts = _binned(flat, [edges], weight, density)
    all_underivable("aten::histogram", (input, bins, weight), (counts, edges))
    return finish(return_types.histogram((counts, edges)), out)


def _check_weight(weight: TensorBase | None, input: TensorBase, shape: tuple[int, ...]) -> None:
    """Raise torch's errors unless ``weight`` has the input's dtype, and one element for each point of an input of this shape."""
    if weight is None:
        return
    if weight._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({cpp_word(input._ms_dtype)}), and weight({cpp_word(weight._ms_dtype)})"
        )
    if weight._ms_shape != shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape {list(shape)} and weight with shape {list(weight._ms_shape)}"
        )


def _check_edges(edges: TensorBase, input: TensorBase, place: int) -> None:
    """Raise torch's errors unless bin edges are a vector of the input's dtype."""
    if edges._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{cpp_word(input._ms_dtype)} and bins for dimension {place} with dtype {cpp_word(edges._ms_dtype)}"
        )
    rank = len(edges._ms_shape)
    if rank != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {rank} dimensions in the bins tensor for dimension {place}"
        )
    if edges._ms_shape[0] == 0:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension {place}"
        )


def _edges(values: TensorBase, bins: int, limits: Any, place: int) -> Any:
    """Return the edges of equal bins for the values of one dimension."""
    if not values._ms_dtype.is_floating_point:
        raise not_for("histogramdd", values._ms_dtype.name)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {place}")
    if limits is not None:
        low, high = limits
    elif values.numel() == 0:
        low, high = 0.0, 1.0
    else:
        low, high = _ends_of(values)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {place}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {place}")
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return linspace(low, high, bins + 1, dtype=values._ms_dtype, device=values.device)


def _binned(points: TensorBase, edges: Sequence[Any], weight: TensorBase | None, density: bool) -> Any:
    """Return the counts of the rows of ``points`` in the multi-dimensional bins between edges."""
    kind = points._ms_dtype
    total: Any = None
    keep: Any = None
    sizes = []
    for d, edge in enumerate(edges):
        column = views.select(points, 1, d)
        count = edge._ms_shape[0] - 1
        sizes.append(count)
        place = searchsorted(edge, row_major(column), right=True) - 1
        last = views.select(edge, 0, -1)
        place = place.masked_fill(column.eq(last), count - 1)
        inside = column.ge(views.select(edge, 0, 0)).logical_and(column.le(last))
        keep = inside if keep is None else keep.logical_and(inside)
        total = place if total is None else total * count + place
    total = total.masked_select(keep)
    cells = math.prod(sizes)
    if weight is None:
        counts = call(_count, (total,), cells).to(kind)
    else:
        weights = views.reshape(weight.detach(), (-1,)).masked_select(keep)
        counts = call(_segment_sum, (weights,), total, cells, dtype=kind)
    counts = views.reshape(counts, tuple(sizes))
    if density:
        counts = counts / counts.sum()
        for d, edge in enumerate(edges):
            counts = counts / views.reshape(diff(edge), (-1,) + (1,) * (len(edges) - d - 1))
    return counts


def histogramdd(
    input: TensorBase, bins: Any, range: Sequence[float] | None = None, weight: TensorBase | None = None, density: bool = False,
    out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return counts of points (rows of the last two dimensions) in multi-dimensional bins, and the edges of each dimension."""
    shape = input._ms_shape
    if len(shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    rank = shape[-1]
    points = views.reshape(input.detach(), (-1, rank))
    if is_number(bins):
        bins = [bins] * rank
    if len(bins) != rank:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
            if all(map(is_number, bins))
            else f"torch.histogramdd: expected {rank} sequences of bin edges for a {rank}-dimensional histogram but got {len(bins)}"
        )
    _check_weight(weight, input, shape)
    edges = []
    for d, item in enumerate(bins):
        limits = None if range is None else tuple(range[2 * d : 2 * d + 2])
        column = views.select(points, 1, d)
        if isinstance(item, TensorBase):
            _check_edges(item, input, d)
        edges.append(item.detach() if isinstance(item, TensorBase) else _edges(column, item, limits, d))
    by_edges = any(isinstance(item, TensorBase) for item in bins)
    if by_edges and input._ms_dtype.is_floating_point and input._ms_dtype.itemsize == 1:
        raise not_for("histogram_cpu", input._ms_dtype.name)
    counts = _binned(points, edges, weight, density)
    all_underivable(f"aten::_histogramdd_from_bin_{'tensors' if by_edges else 'cts'}", (input, *bins, weight), (counts,))
    if not by_edges:
        all_underivable("aten::_histogramdd_bin_edges", (input, weight), edges)
    return return_types.histogramdd((counts, tuple(bins if by_edges else edges)))
