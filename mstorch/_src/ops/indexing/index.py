"""Reading elements by index tensors; filling and selecting by masks."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...backend.device_memory import full
from ...backend.errors import wrong_type
from ...backend.table import kernel
from ...core import determinism
from ...core.dtype import bool_, int64, uint8
from ...core.formats import contiguous_format
from ...core.one_device import OneDevice, found_two, mask_elsewhere
from ...core.strides import beyond_storage, overlaps, preserved_strides
from ...core.tangents import is_dual
from ...core.tensor_base import (
    TensorBase,
    array_of,
    in_order,
    is_tracked,
    on_device,
    recording,
    strides_of,
    tensor_of,
    touch,
    value_of,
    whole_storage,
    window,
)
from ...core.writable import change_raw, check_history, check_writable, refuse_partial_overlap, warn_if_expanded
from ...tape.apply import apply
from ...tape.in_place import change
from ...tape.moving import beside
from ...tape.saved_values import watch
from ...tape.ways import in_arrays, ways
from .._autocast import WIDEST_ON_DEVICES
from .._dispatch import (
    broadcast_shape,
    call,
    cast_tensor,
    contiguous_copy,
    cpp_word,
    deliver,
    expect_out_dtype,
    finish,
    finish_exactly,
    is_number,
    python_number,
    readable,
    refuse_codes,
    type_word,
    wrap_dim,
)  # fmt: skip
from .._forms import Forms
from .._in_place import in_place, in_place_form
from .._named import by_value, name_written, node_called
from .._numbers import fitting
from .._operation import Record, operation
from .._overlaps import refuse_overlap, refuse_partly
from .._scalars import scalar_array
from .._true_positions import nonzero_rows, true_positions
from ..elementwise.compare import clamp, eq, lt, where
from ..elementwise.elementwise import add
from ..reduce.reduce import any as any_of
from ..shape import parts, views
from ..shape.join import cat
from . import assignment, subscript
from ._flat_put import flat_positions, put_by_one_kernel
from ._index_checks import check_index_dim, check_range, expect_dtype_of, index_tensor
from ._values_put import refuse_exponents
from .scatter import put_flat

_gather = kernel("gather")
_index_select = kernel("index_select")
_nonzero = kernel("nonzero")
_take = kernel("take")
_where = kernel("where")
_cumsum = kernel("cumsum")

_SAME = "{}(): self and result must have the same scalar type"


def keep_layout(input: TensorBase, found: TensorBase) -> Any:
    """Return a new contiguous result of the shape of ``input``, rearranged to the strides of ``input`` if they are dense."""
    if input._ms_stride is None or found is input:
        return found
    return in_order(found, preserved_strides(found._ms_shape, input._ms_stride))


def keep_gaps(input: TensorBase, found: TensorBase) -> TensorBase:
    """Return a new result with the strides of ``input``. If ``input`` leaves gaps in its storage, the result has the same gaps, with a copy
    of the bytes in them."""
    strides = strides_of(input)
    if not in_arrays(input, found) or overlaps(input._ms_shape, strides) or is_dual(found) or (
        input._ms_stride is None and not input._ms_offset
    ):
        return keep_layout(input, found)
    whole = tensor_of(np.array(array_of(whole_storage(input))))
    made = window(whole._ms_storage, input._ms_dtype, input._ms_shape, strides, input._ms_offset)
    array_of(made)[...] = array_of(found)
    made._ms_node, made._ms_number = found._ms_node, found._ms_number
    return made


@operation(numpy_names=True, one_device=OneDevice())
def gather(input: TensorBase, dim: int, index: TensorBase, *, sparse_grad: bool = False, out: TensorBase | None = None) -> TensorBase:
    """Return the elements of ``input`` at ``index`` along ``dim``; along other dimensions, at the position in ``index``."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    refuse_overlap(out, input, index)
    expect_out_dtype(out, input._ms_dtype)
    positions = index_tensor(index, "gather", text="gather(): Expected dtype int32/int64 for index")
    own = positions._ms_shape
    if 0 not in own:
        if max(len(own), 1) != max(len(shape), 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
        for d in range(len(own)):
            if d != dim and own[d] > (shape[d] if shape else 1):
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(own)} to be no larger than self {list(shape)} "
                    f"apart from dimension {dim}"
                )
        check_index_dim(positions, dim, shape)
    return finish(watch(call(_gather, (input,), dim, positions), input, index), out)


@operation(numpy_names=True, one_device=OneDevice("_index_select"))
def index_select(input: TensorBase, dim: int, index: TensorBase | None, *, out: TensorBase | None = None) -> TensorBase:
    """Return a copy of the slices ``index`` (a vector) along a dimension."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    refuse_overlap(out, input, index)
    positions = index_tensor(index, "index_select", text="index_select(): Expected dtype int32 or int64 for index")
    if len(positions._ms_shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not shape and math.prod(positions._ms_shape) != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {math.prod(positions._ms_shape)} value(s)")
    if len(shape) > 1 and shape[dim] == 0 and 0 not in positions._ms_shape:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    size = shape[dim] if shape else 1
    by_rows = len(shape) < 2 or dim != 1 and 0 not in shape
    check_range(positions, 0, size, lambda wrong: IndexError("index out of range in self") if by_rows else RuntimeError(
        f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}"
    ))  # fmt: skip
    if not shape and input._ms_dtype.ms is None:  # a dtype stored as bytes, which gather does not support
        found = call(_index_select, (views.reshape(input, (1,)),), 0, views.reshape(positions, (1,)))
        return finish_exactly(views.reshape(found, ()), out, _SAME.format("index_select"))
    if not shape:
        return finish_exactly(call(_gather, (input,), 0, views.reshape(positions, ())), out, _SAME.format("index_select"))
    if not positions._ms_shape:
        positions = views.reshape(positions, (1,))
    return finish_exactly(call(_index_select, (input,), dim, positions), out, _SAME.format("index_select"))


@operation(one_device=OneDevice("_take"))
def take(input: TensorBase, index: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the elements at flat indices, in the shape of ``index``."""
    refuse_overlap(out, input, index)
    positions = index_tensor(index, "take", int32_too=False)
    size = math.prod(input._ms_shape)
    if 0 not in positions._ms_shape:
        refuse_codes("take_cpu", input)
    if size == 0 and 0 not in positions._ms_shape:
        raise IndexError("take(): tried to take from an empty tensor")
    check_range(
        positions, -size, size,
        lambda value: IndexError(f"out of range: tried to access index {value} on a tensor of {size} elements."),
    )
    words = "take(): self and out expected to have the same dtype, but got self.dtype = {kind} and out.dtype = {out}"
    return finish_exactly(watch(call(_take, (input,), positions), input), out, words)


@operation(numpy_names=True, one_device=OneDevice())
def take_along_dim(input: TensorBase, indices: TensorBase, dim: int | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the elements of ``input`` at ``indices`` along ``dim``, the other dimensions broadcast; without ``dim``, of the flattened
    tensor.
    """
    if indices._ms_dtype is not int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {type_word(indices._ms_dtype)}")
    if dim is None:
        input, indices, dim = views.view(input, -1), views.view(indices, -1), 0
    own, other = input._ms_shape, indices._ms_shape
    refuse_partly(out, indices)
    if len(own) != len(other):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(own)} dimensions for input, and {len(other)} dimensions for indices"
        )
    dim = wrap_dim(dim, len(own))
    common = broadcast_shape((*own[:dim], 1, *own[dim + 1 :]), (*other[:dim], 1, *other[dim + 1 :]))
    spread = views.expand(input, (*common[:dim], own[dim], *common[dim + 1 :]))
    positions = views.expand(indices, (*common[:dim], other[dim], *common[dim + 1 :]))
    values = readable(positions)
    if values is None or (values < 0).any():
        positions = where(lt(positions, 0), add(positions, own[dim]), positions)
    else:
        positions = positions.clone()  # as in torch, the indices may be modified in place before backward
    return gather(spread, dim, positions, out=out)


_C_TYPE = {
    "float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "int16": "int16_t", "int8": "int8_t",
    "uint8": "uint8_t", "float16": "at::Half", "bfloat16": "at::BFloat16",
}  # fmt: skip


@operation(writes_some=True, one_device=OneDevice(words=mask_elsewhere, numbers=("value",)))
@node_called(by_value("MaskedFillBackward", 2, "value"))
def masked_fill(input: TensorBase, mask: TensorBase, value: TensorBase | Number) -> TensorBase:
    """Return a copy with ``value`` (a number or 0-d tensor) where the mask is True; both shapes broadcast."""
    if mask._ms_dtype is not bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {cpp_word(mask._ms_dtype)}"
        )
    refuse_codes("masked_fill", input)
    name = input._ms_dtype.name
    if isinstance(value, TensorBase):
        if value._ms_shape:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{len(value._ms_shape)} dimension(s)."
            )
        is_known = readable(value) is not None
        if value._ms_dtype is not input._ms_dtype and is_known:
            fitting(value.item(), input._ms_dtype)
        if value._ms_dtype.is_complex and not input._ms_dtype.is_complex:
            if not is_known:
                raise RuntimeError(f"value cannot be converted to type {_C_TYPE.get(name, name)} without overflow")
            value = value.real
    elif not is_number(value):
        raise wrong_type(
            "masked_fill() received an invalid combination of arguments - got (Tensor, "
            f"{type(value).__name__}), but expected one of:\n * (Tensor mask, Tensor value)\n * (Tensor mask, Number value)"
        )
    shape = broadcast_shape(mask._ms_shape, input._ms_shape)
    if math.prod(input._ms_shape) == 0 or 0 in shape:
        return contiguous_copy(views.expand(input, shape))
    filler = value if isinstance(value, TensorBase) else tensor_of(
        scalar_array(fitting(python_number(value), input._ms_dtype), input._ms_dtype).copy()
    )
    filler = filler if filler._ms_dtype is input._ms_dtype else cast_tensor(filler, input._ms_dtype)
    if shape == input._ms_shape and change(input, "masked_fill", mask, filler):
        return input
    return apply(_where, input._ms_dtype, (mask, filler, input), label="MaskedFillBackward0")


@operation(one_device=OneDevice("_masked_select"))
def masked_select(input: TensorBase, mask: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return a 1-d tensor of the elements where the mask is True; the shapes broadcast."""
    if mask._ms_dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    refuse_overlap(out, input, mask)
    shape = broadcast_shape(mask._ms_shape, input._ms_shape)
    spread = views.expand(input, shape) if input._ms_shape != shape else input
    (places,) = true_positions(views.reshape(views.expand(mask, shape), (-1,)))
    found = call(_take, (spread,), beside(places, input), label="MaskedSelectBackward0")
    return finish_exactly(watch(found, input, mask), out, _SAME.format("masked_select"))


def _expect_long(name: str, out: TensorBase | None) -> None:
    if isinstance(out, TensorBase) and out._ms_dtype is not int64:
        raise RuntimeError(f"{name}: Expected out tensor to have scalar type Long but got scalar type{type_word(out._ms_dtype)}")


def nonzero(input: TensorBase, *, out: TensorBase | None = None, as_tuple: bool = False) -> Any:
    """Return the indices of nonzero elements: a matrix with a row each, or a tuple of a vector per dimension."""
    if as_tuple.__class__ is not bool:
        raise wrong_type(f"nonzero(): argument 'as_tuple' must be bool, not {type(as_tuple).__name__}")
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    _expect_long("nonzero", out)
    refuse_codes("nonzero_count_cpu", input)
    truth = input if input._ms_dtype is bool_ else input.detach().ne(0)
    if as_tuple:
        if not truth._ms_shape:
            truth = views.reshape(truth, (1,))
        return parts.unbind(nonzero(truth), 1)
    if out is not None:
        refuse_overlap(out, input)
        return deliver(call(_nonzero, (truth,)), out)
    return nonzero_rows(truth)


def argwhere(input: TensorBase) -> TensorBase:
    """Return the indices of nonzero elements, one row each."""
    return nonzero(input)


def nonzero_static(input: TensorBase, *, size: int, fill_value: int = -1, out: TensorBase | None = None) -> TensorBase:
    """Return the first ``size`` rows of ``nonzero``, padded with rows of ``fill_value``."""
    _expect_long("nonzero_static", out)
    found = nonzero(input)
    count, rank = found._ms_shape
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if count < size:
        found = cat((found, found.new_full((size - count, rank), fill_value)))
    else:
        found = views.slice_dim(found, 0, 0, size, 1).clone(memory_format=contiguous_format)
    return finish(found, out)


_PUT = OneDevice(words=found_two, numbers=("values",), anywhere=("indices",))


@operation(autocast=WIDEST_ON_DEVICES, reads_while_it_writes=True, one_device=_PUT)
@node_called("IndexPutBackward0")
def index_put(input: TensorBase, indices: tuple[TensorBase, ...], values: TensorBase, accumulate: bool = False) -> TensorBase:
    """Return a copy with ``values`` written (or accumulated) at the index tensors."""
    found = index_put_(input.clone(), indices, values, accumulate)
    found._ms_counter.version = 0  # a new result counts no writes
    return found


@operation(forms=Forms({"input": "self"}), one_device=_PUT)
def index_put_(self: TensorBase, indices: tuple[TensorBase, ...], values: TensorBase, accumulate: bool = False) -> TensorBase:
    """Write (or accumulate) ``values`` at the index tensors; return the tensor."""
    check_history(self)
    key = tuple(slice(None) if index is None else index for index in indices)
    if len(indices) > len(self._ms_shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self._ms_shape)} (got {len(indices)})")
    one_at_a_mask = not accumulate and len(key) == 1 and key[0]._ms_dtype is bool_ and math.prod(values._ms_shape) == 1
    if not one_at_a_mask:  # that is a masked fill, which converts the value
        expect_dtype_of(self, values)
    warn_if_expanded(self, "index_put_", "tensor[indices] = tensor")
    before = self._ms_node
    if not accumulate:
        assignment.setitem(self, key, values)
        return self if self._ms_node is before else watch(self, *indices)  # masks too: backward reads their positions
    check_writable(self, uniform=True)  # torch only warns if elements share memory
    refuse_exponents(self)
    for read in (values, *indices):
        if isinstance(read, TensorBase):
            refuse_partial_overlap(self, read, alike=False)
    if self._ms_stride is not None and overlaps(self._ms_shape, self._ms_stride):
        _added_at_shared(self, key, values)
    else:
        _added_at(self, key, values)
    return self if self._ms_node is before else name_written(self, "IndexPutBackward0")


def _added_on_host(self: TensorBase, key: tuple[TensorBase, ...], values: TensorBase) -> TensorBase | None:
    many = math.prod(self._ms_shape) > _MANY and not recording((self, values))
    return _add_without_places(self, key, values) if many else None


def _added_on_device(self: Any, key: Any, values: Any) -> Any:
    shape = self._ms_shape
    if 0 in shape:
        return None
    dims, indices, common, adjacent = subscript.planned(self, key)
    lengths = [shape[d] for d in range(len(shape)) if d not in dims]
    front = dims[0] if adjacent else 0
    if values._ms_storage is self._ms_storage:
        refuse_partial_overlap(self, values)
    wide = views.expand(values, (*lengths[:front], *common, *lengths[front:]))
    if put_by_one_kernel(self, dims, indices, common, adjacent, wide, True):
        return self
    places = flat_positions(shape, dims, indices, common, adjacent, self)
    return _put_anywhere(self, places, views.expand(values, places._ms_shape), accumulate=True)


@ways(host=_added_on_host, device=_added_on_device)
def _added_at(self: TensorBase, key: tuple[TensorBase, ...], values: TensorBase) -> TensorBase:
    shape = self._ms_shape
    places = subscript.getitem(beside(tensor_of(np.arange(math.prod(shape)).reshape(shape)), self), key)
    return _put_anywhere(self, places, views.expand(values, places._ms_shape), accumulate=True)


def _added_at_shared(self: TensorBase, key: tuple[TensorBase, ...], values: TensorBase) -> None:
    """Add values where elements share memory, such that an element gets the sum of all that are added to its memory."""
    assert self._ms_stride is not None
    alone = self
    for dim, (length, stride) in enumerate(zip(self._ms_shape, self._ms_stride)):
        if length > 1 and stride == 0:
            alone = views.slice_dim(alone, dim, 0, 1, 1)
    numbers = tensor_of(np.arange(math.prod(alone._ms_shape)).reshape(alone._ms_shape))
    places = subscript.getitem(beside(views.expand(numbers, self._ms_shape), self), key)
    _put_anywhere(alone, places, views.expand(values, places._ms_shape), accumulate=True)


_MANY = 1 << 22  # number of elements above which their flat indices take too much memory


def _add_without_places(target: TensorBase, key: tuple[Any, ...], values: TensorBase) -> TensorBase:
    """Add values at index tensors without computing flat indices; return the tensor."""
    shape = target._ms_shape
    shown = subscript.getitem(views.expand(tensor_of(np.zeros((1,) * len(shape), np.int8)), shape), key)  # checks the key
    spread = views.expand(values, shown._ms_shape)
    places: Any = tuple(
        item if isinstance(item, slice) else array_of(item).astype(bool) if item._ms_dtype is uint8 else array_of(item) for item in key
    )
    np.add.at(array_of(target), places, array_of(spread).astype(target._ms_dtype.np, copy=False))
    touch(target)
    return target


@operation(reads_while_it_writes=True, arguments_first=True, writes_some=True, one_device=OneDevice("_put_"))
def put(input: TensorBase, index: Any, source: TensorBase | None, accumulate: bool = False) -> TensorBase:
    """Return a copy with the elements of ``source`` written (or accumulated) at flat indices."""
    if 0 not in index._ms_shape:
        refuse_codes("take_put_cpu", input)
    return _put_at(input, index, source, accumulate)


def _put_at(input: TensorBase, index: TensorBase, source: Any, accumulate: bool = False) -> TensorBase:
    if not accumulate:
        determinism.refuse("put_")
    if index._ms_dtype is not int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {type_word(index._ms_dtype)}")
    if source._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_word(input._ms_dtype)} and "
            f"source.dtype = {type_word(source._ms_dtype)}"
        )
    count, size = math.prod(index._ms_shape), math.prod(input._ms_shape)
    if math.prod(source._ms_shape) != count:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{math.prod(source._ms_shape)}, index.numel() = {count}"
        )
    if size == 0 and count:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    check_range(
        index, -size, size,
        lambda value: IndexError(f"out of range: tried to access index {value} on a tensor of {size} elements."),
    )
    return keep_layout(input, watch(put_flat(input, index, source, accumulate), source if is_tracked(source) else None))


_put_at.record = Record(writes_some=True)  # type: ignore[attr-defined]
# torch only warns if elements share memory.
_put_anywhere = in_place_form(_put_at, "put_", uniform=True)


@operation(numpy_names=True, reads_while_it_writes=True, writes_some=True, one_device=OneDevice(words=found_two, numbers=("value",)))
@node_called(by_value("IndexFillBackward", 3, "value"))
def index_fill(input: TensorBase, dim: int, index: TensorBase, value: TensorBase | Number) -> TensorBase:
    """Return a copy with ``value`` in the slices ``index`` of a dimension."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    positions = index_tensor(
        index, "index_fill", int32_too=False, error=IndexError, text="index_fill_(): Expected dtype int64 for index."
    )
    if len(positions._ms_shape) > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and not input._ms_dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if isinstance(value, TensorBase) and value._ms_shape:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value._ms_shape)} dimension(s)."
        )
    if math.prod(input._ms_shape) == 0:
        _check_empty_fill(input, dim, math.prod(positions._ms_shape))
        return input.clone()  # as in torch, indices are not checked
    refuse_codes("index_fill_cpu", input)
    size = shape[dim] if shape else 1
    check_range(
        positions, -size, size,
        lambda wrong: IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {size}"),
    )
    mask = views.reshape(_flags(size, positions), (1,) * dim + (size,) + (1,) * (len(shape) - dim - 1) if shape else ())
    if tracked_number(value):
        value = python_number(value)
    return keep_layout(input, watch(masked_fill(input, mask, value), index))


def _check_empty_fill(input: Any, dim: int, count: int) -> None:
    """Raise torch's error for ``index_fill`` along a dimension of length 0, if there are indices and no other dimension is empty."""
    lengths = [count if d == dim else length for d, length in enumerate(input._ms_shape)]
    steps = [0 if d == dim else step for d, step in enumerate(strides_of(input))]
    size, offset = input._ms_dtype.itemsize, input._ms_offset
    need = (offset + 1 + sum((length - 1) * step for length, step in zip(lengths, steps))) * size
    held = input.untyped_storage().nbytes()
    if 0 not in lengths and need > held:
        raise beyond_storage(lengths, steps, offset, size, held)
    if 0 not in lengths:
        raise IndexError(f"index 0 is out of bounds for dimension {dim} with size 0")


def _flags(size: int, positions: TensorBase) -> TensorBase:
    """Return a bool vector of length ``size`` that is True at the given indices, which may be negative."""
    if in_arrays(positions):
        chosen = np.zeros(size, np.bool_)
        chosen[array_of(positions).reshape(-1)] = True
        return tensor_of(chosen)
    return _flags_of(positions, size)


def _flags_on_device(positions: TensorBase, size: int) -> Any:
    held = on_device(full((size,), 0, "bool"))
    return held if change_raw(held, "put", full(positions._ms_shape, 1, "bool"), value_of(positions), False) else None


@ways(device=_flags_on_device)
def _flags_of(positions: TensorBase, size: int) -> TensorBase:
    every = beside(tensor_of(np.arange(-size, size).reshape(2, size, 1)), positions)
    return any_of(any_of(eq(every, views.reshape(positions, (-1,))), 2), 0)


def tracked_number(value: TensorBase | complex) -> bool:
    """Return whether the value is a number (Python's or NumPy's)."""
    return not isinstance(value, TensorBase) and is_number(value)


_TOO_FEW = "Number of elements of source < number of ones in mask"


@operation(writes_some=True, one_device=OneDevice("_masked_scatter_"))
@node_called("MaskedScatterBackward0")
def masked_scatter(input: TensorBase, mask: TensorBase, source: TensorBase) -> TensorBase:
    """Return a copy with consecutive elements of ``source`` where the mask is True."""
    if mask._ms_dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_word(mask._ms_dtype)}"
        )
    if source._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"masked_scatter_: expected self and source to have same dtypes but got {type_word(input._ms_dtype)} and "
            f"{type_word(source._ms_dtype)}"
        )
    refuse_codes("masked_scatter", input)
    shape = broadcast_shape(mask._ms_shape, input._ms_shape)
    spread = views.expand(input, shape) if input._ms_shape != shape else input
    chosen = readable(mask)
    count = 0 if chosen is None else int(np.count_nonzero(np.broadcast_to(chosen, shape)))
    if math.prod(source._ms_shape) < count:
        raise RuntimeError(_TOO_FEW)
    if chosen is None or not in_arrays(mask):
        return _masked_scatter_without_counting(spread, views.expand(mask, shape), source)
    positions = np.flatnonzero(np.broadcast_to(chosen, shape))
    flat = views.reshape(source, (math.prod(source._ms_shape),))
    part = views.slice_dim(flat, 0, 0, count, 1)
    return watch(put_flat(spread, beside(tensor_of(positions), spread), part, False), mask)


def _in_one_memory(target: TensorBase, source: TensorBase) -> bool:
    """Return whether two tensors share a storage, or host memory (a NumPy array's)."""
    if target._ms_storage is source._ms_storage:
        return True
    return in_arrays(target, source) and np.may_share_memory(array_of(target), array_of(source))


@operation(one_device=OneDevice("_masked_scatter_"))
def masked_scatter_(self: TensorBase, mask: TensorBase, source: TensorBase) -> TensorBase:
    """Write consecutive elements of ``source`` where the mask is True; return the tensor."""
    if isinstance(source, TensorBase) and _in_one_memory(self, source):
        source = source.clone()
    return in_place(self, masked_scatter, mask, source)


def _masked_scatter_without_counting(input: Any, mask: Any, source: Any) -> Any:
    """Implement ``masked_scatter`` without reading the mask: the index into ``source`` is the cumulative sum of the mask."""
    if 0 in source._ms_shape:
        return contiguous_copy(input)  # if the mask is True anywhere, it is an error that nobody looks for here
    before = call(_cumsum, (views.reshape(mask, (-1,)).to(int64),), 0, dtype=int64) - 1
    flat = views.reshape(source, (-1,))
    taken = index_select(flat, 0, clamp(before, 0, flat._ms_shape[0] - 1))
    return where(mask, views.reshape(taken, input._ms_shape), input)


def _warning(form: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(form)
    def written(self: TensorBase, *args: Any, **kwargs: Any) -> TensorBase:
        warn_if_expanded(self, form.__name__, "tensor[mask] = scalar")
        return form(self, *args, **kwargs)

    return written


NAMED_METHODS = {
    "masked_fill_": _warning(in_place_form(masked_fill, "masked_fill_", uniform=True)),
    "index_fill_": _warning(in_place_form(index_fill, "index_fill_", uniform=True)),
    "masked_scatter_": masked_scatter_,
}
