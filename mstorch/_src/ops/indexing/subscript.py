"""``tensor[key]`` and ``tensor[key] = value``, with all of torch's keys."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array, within
from ...backend.errors import WRONG_MASK, about, telling
from ...backend.geometry import contiguous_strides
from ...backend.table import kernel
from ...core.dtype import bool_, int32, int64, uint8
from ...core.modes import modes
from ...core.one_device import check_index, check_one_device
from ...core.storage import Storage
from ...core.strides import iterated_strides, overlaps, view_strides
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, is_tracked, strides_of, tensor_of, touch
from ...core.warned import warn
from ...core.writable import (
    check_history,
    check_view,
    check_writable,
    refuse_partial_overlap,
    refuse_shared_places,
    warn_if_expanded,
)
from ...tape.duals import write_parts
from ...tape.moving import beside
from ...tape.native import through
from ...tape.node import watch
from ...tape.ways import ways
from ...tape.windows import PART, linear, sorted_view
from ...tape.writes import assign, settle, snapshot
from .._dispatch import (
    call,
    cast_tensor,
    contiguous_copy,
    is_number,
    readable,
    refuse_codes,
    write,
    write_array,
)
from .._numbers import fitting
from .._true_positions import true_positions
from ..shape import views
from ._flat_put import Put, filling, flat_positions, put_by_one_kernel, put_on_device
from ._index_checks import expect_dtype_of, not_numbers
from ._keys import (
    end_of_slice,
    has_full_slices,
    is_read,
    is_whole,
    lone_mask,
    place_in_key,
    refuse_mask_of_bytes,
    stands_for_a_tuple,
    with_ellipses,
    without_ellipsis,
)
from ._mask_fill import fill, window_of_mask
from ._values_put import fitted, not_assigned, number_as, refuse_exponents, stands_in, type_name, without_leading_ones

_index = kernel("index")
_scatter = kernel("storage_scatter")
_MASKS = (np.bool_, np.uint8)


def _as_index(item: Any) -> Any:
    """Return a list, array or tensor in a key as an index tensor (int64 or bool)."""
    if isinstance(item, TensorBase):
        kind = item._ms_dtype
        if kind is uint8:
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
            return item.to(bool_)
        if kind is not bool_ and kind is not int64:
            if kind.category != 1 or kind is not int32 and item._ms_shape:  # narrower ones may be numbers, not rows of positions
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            return cast_tensor(item, int64)
        return item
    if isinstance(item, (list, tuple, range)):
        item = np.asarray([i.tolist() if isinstance(i, TensorBase) else i for i in item])
        if item.dtype.kind in "OUS":
            raise not_numbers(item)
        if item.size == 0 or item.dtype.kind == "f":
            item = item.astype(np.int64)
    if item.dtype == np.uint8:
        item = item.astype(np.bool_)
    if item.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return tensor_of(np.ascontiguousarray(item, None if item.dtype.kind == "b" else np.int64).reshape(item.shape))


def _expanded(key: Any, rank: int) -> list[Any]:
    """Return the key as a list with an item per dimension, without Ellipsis."""
    if whole := stands_for_a_tuple(key):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] "
            "instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either "
            "in an error or a different result"
        )
    items = [
        int(item) if isinstance(item, np.bool_) or isinstance(item, np.ndarray) and not item.ndim and item.dtype not in _MASKS else item
        for item in (key if whole or isinstance(key, tuple) else (key,))
    ]
    used = 0
    ellipsis = None
    for position, item in enumerate(items):
        if item is Ellipsis:
            if ellipsis is None:
                ellipsis = position
            continue
        if item is None or isinstance(item, bool):
            continue
        if isinstance(item, TensorBase) and item._ms_dtype in (bool_, uint8):
            used += len(item._ms_shape)
        else:
            used += 1  # for an array too, as torch counts it, whatever its rank
    if used > rank:
        if rank == 0 and isinstance(key, (int, np.integer)):
            if items[0]:
                raise IndexError(f"index {items[0]} is out of bounds for dimension 0 with size 0")
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        if key.__class__ is slice:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    if ellipsis is not None:
        if used < rank and sum(item is Ellipsis for item in items) > 1:
            return with_ellipses(items, rank, used)
        items[ellipsis : ellipsis + 1] = [slice(None)] * (rank - used)
        return [item for item in items if item is not Ellipsis]
    return items


def _basic(self: TensorBase, key: Any) -> tuple[Any, dict[int, Any]]:
    """Return the view by the key's ints, slices and Nones, and the key's index tensors as a dict by dimension of that view."""
    current = self
    dim = 0
    advanced: dict[int, Any] = {}
    items = _expanded(key, len(self._ms_shape))
    for number, item in enumerate(items):
        shape = current._ms_shape
        if isinstance(item, bool):
            current = views.unsqueeze(current, dim)
            advanced[dim] = tensor_of(np.zeros(1 if item else 0, np.int64))
            dim += 1
        elif item is None:
            current = views.unsqueeze(current, dim)
            dim += 1
        elif isinstance(item, slice):
            if not is_whole(item, shape[dim : dim + 1]):
                current = _sliced(current, dim, item)
            dim += 1
        elif isinstance(item, (int, np.integer)) or (
            isinstance(item, TensorBase) and item._ms_dtype.category == 1 and item._ms_dtype is not uint8 and not item._ms_shape
            and is_read(item)
        ):
            index = int(item)
            if not -shape[dim] <= index < shape[dim]:
                place = place_in_key(key, number, len(items))
                raise IndexError(f"index {index} is out of bounds for dimension {place} with size {shape[dim]}")
            current = views.select(current, dim, index)
        elif isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            check_index(self, item)
            index = _as_index(item)
            if index._ms_dtype is bool_:
                dim, current = _add_mask(current, dim, index, advanced)
            else:
                advanced[dim] = index
                dim += 1
        elif hasattr(item, "__index__"):
            current = views.select(current, dim, item.__index__())
        elif isinstance(item, str):
            raise TypeError("new(): invalid data type 'str'")
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type_name(item)})"
            )
    return views.alias(current) if current is self and not advanced else current, advanced


def _view_with_full_slices(self: TensorBase, key: TensorBase | tuple[Any, ...]) -> TensorBase:
    """Return the view that the ints, slices and Nones of a key select, with a full slice in place of each index tensor and mask."""
    items: list[Any] = []
    for item in _expanded(key, len(self._ms_shape)):
        if not isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            items.append(item)
            continue
        index = _as_index(item)
        items += [slice(None)] * len(index._ms_shape) if index._ms_dtype is bool_ else [slice(None) if index._ms_shape else index]
    return _basic(self, tuple(items))[0]


def _add_mask(current: TensorBase, dim: int, mask: TensorBase, advanced: dict[int, Any]) -> tuple[int, Any]:
    """Replace a boolean mask by the index tensors of its True elements, one per dimension of the mask."""
    shape = current._ms_shape
    if not mask._ms_shape:
        current = views.unsqueeze(current, dim)
        (advanced[dim],) = true_positions(mask)
        return dim + 1, current
    for i, length in enumerate(mask._ms_shape):
        if length != shape[dim + i]:
            raise telling(IndexError(
                f"The shape of the mask {list(mask._ms_shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + i}"
            ), WRONG_MASK)  # fmt: skip
    for i, positions in enumerate(true_positions(mask)):
        advanced[dim + i] = positions
    return dim + len(mask._ms_shape), current


def _sliced(current: TensorBase, dim: int, item: slice) -> TensorBase:
    length = current._ms_shape[dim]
    step = 1 if item.step is None else end_of_slice(item.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    start = None if item.start is None else end_of_slice(item.start)
    stop = None if item.stop is None else end_of_slice(item.stop)
    start, stop, step = slice(start, stop, step).indices(length)
    if start == 0 and step == 1 and stop == length:
        return views.slice_dim(current, dim, 0, length, 1)
    return views.slice_dim(current, dim, start, max(start, stop), step)


def _plan(advanced: dict[int, Any]) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the broadcast shape of the index tensors, the indexed dimensions, and whether these are adjacent; a single index tensor counts
    as adjacent."""
    if len(advanced) == 1:
        ((dim, index),) = advanced.items()
        return index._ms_shape, (dim,), True
    try:
        common = np.broadcast_shapes(*(index._ms_shape for index in advanced.values()))
    except ValueError:
        shapes = ", ".join(str(list(index._ms_shape)) for index in advanced.values())
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}") from None
    dims = tuple(sorted(advanced))
    adjacent = dims == tuple(range(dims[0], dims[0] + len(dims)))
    return tuple(common), dims, adjacent


def _refuse_places_in_nothing(shape: tuple[int, ...], advanced: dict[int, Any]) -> None:
    """Raise torch's error if a non-empty index tensor indexes a dimension of length 0."""
    for dim, index in advanced.items():
        if not shape[dim] and 0 not in index._ms_shape:
            raise IndexError("index is out of bounds for dimension with size 0")


def _check_bounds(shape: tuple[int, ...], advanced: dict[int, Any]) -> None:
    if 0 in shape:
        _refuse_places_in_nothing(shape, advanced)
    # torch moves the indexed dimensions to the front before it numbers them.
    for dim, index in sorted(advanced.items()):
        values = None if 0 in index._ms_shape else readable(index)
        if values is None:  # a device's kernels check the range
            continue
        if not within(values, -shape[dim], shape[dim] - 1):
            if 0 in shape:
                advanced[dim] = index * 0
                continue
            raise _first_out_of_bounds(shape, advanced)


def _first_out_of_bounds(shape: tuple[int, ...], advanced: dict[int, Any]) -> IndexError:
    """Return torch's IndexError for the first index out of bounds."""
    dims = sorted(advanced)
    values = np.broadcast_arrays(*(array_of(advanced[dim]) for dim in dims))
    wrong = np.stack([(found < -shape[dim]) | (found >= shape[dim]) for dim, found in zip(dims, values)], -1)
    element, position = divmod(int(wrong.reshape(-1).argmax()), len(dims))
    value, size = values[position].reshape(-1)[element], shape[dims[position]]
    return IndexError(f"index {value} is out of bounds for dimension {position} with size {size}")


_BOUND = (int, type(None))


def window_of(self: TensorBase, key: Any) -> TensorBase | None:
    """Return the view of host memory for a key of ints, slices, None and an Ellipsis within bounds; None for any other key."""
    given = key
    if key.__class__ is not tuple:
        key = (key,)
    if modes.native is not None or self._ms_storage.__class__ is not Storage:
        return None
    shape, strides, offset = self._ms_shape, self._ms_stride, self._ms_offset
    if strides is None:
        strides = contiguous_strides(shape)
    rank, dim = len(shape), 0
    lengths: list[int] = []
    steps: list[int] = []
    label = "SliceBackward0" if given.__class__ is slice else "AliasBackward0"  # torch's node for a view of all elements
    for item in key:
        kind = item.__class__
        if kind is int:
            if dim == rank or not -shape[dim] <= item < shape[dim]:
                return None
            offset += (item + shape[dim] if item < 0 else item) * strides[dim]
            label = "SelectBackward0"
            dim += 1
        elif kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if dim == rank or start.__class__ not in _BOUND or stop.__class__ not in _BOUND or step.__class__ not in _BOUND:
                return None
            length = shape[dim]
            if start is None and stop is None and step is None:
                lengths.append(length)
                steps.append(strides[dim])
            else:
                if step is not None and step <= 0:
                    return None
                if label != "SliceBackward0" and not is_whole(item, (length,)):
                    label = "SliceBackward0"
                start, stop, step = item.indices(length)
                lengths.append(max(0, -((start - stop) // step)))
                steps.append(strides[dim] * step)
                offset += start * strides[dim]
            dim += 1
        elif item is None:
            lengths.append(1)
            steps.append(shape[dim] * strides[dim] if dim < rank else 1)
            label = "UnsqueezeBackward0"
        else:
            plain = without_ellipsis(key, rank) if item is Ellipsis else None
            return None if plain is None else window_of(self, plain)
    lengths.extend(shape[dim:])
    steps.extend(strides[dim:])
    return sorted_view(self, label, tuple(lengths), tuple(steps), offset, PART, given)


def getitem(self: TensorBase, key: TensorBase | int | tuple[Any, ...]) -> TensorBase:
    """Return ``self[key]``: a view for ints, slices, None and Ellipsis; a copy for keys with tensors, lists or masks."""
    kind = key.__class__
    if kind is int or kind is slice or kind is tuple:
        found = window_of(self, key)
        if found is not None:
            return found
        if is_whole(key, self._ms_shape):
            return views.alias(self) if kind is tuple else views.slice_dim(self, 0, 0, self._ms_shape[0], 1)
    current, advanced = _basic(self, key)
    if not advanced:
        return views.alias(self) if current is self else current
    return take_advanced(current, advanced)


def take_advanced(current: TensorBase, advanced: dict[int, Any]) -> TensorBase:
    """Return the elements selected by index tensors, tracked by autograd."""
    shape = current._ms_shape
    common, dims, adjacent = _plan(advanced)
    _check_bounds(shape, advanced)
    indices = tuple(advanced[d] for d in dims)
    strides = _taken_strides(current, dims, indices, common, adjacent)
    return call(_index, (current,), dims, indices, common, adjacent, strides=strides)


def _taken_strides(
    source: TensorBase, dims: tuple[int, ...], indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool
) -> tuple[int, ...] | None:
    """Return torch's strides for elements selected by index tensors, which depend on the source's other dimensions and the indices'
    strides.
    """
    shape = source._ms_shape
    rest = [d for d in range(len(shape)) if d not in dims]
    lengths = [shape[d] for d in rest]
    if source._ms_stride is None and 0 not in common and 0 not in lengths and all(index._ms_stride is None for index in indices):
        return None
    lead = dims[0] if adjacent else 0
    steps = [strides_of(source)[d] for d in rest]
    result = (*lengths[:lead], *common, *lengths[lead:])
    if 0 in result and all((*(1,) * lead, *index._ms_shape, *(1,) * (len(lengths) - lead)) == result for index in indices):
        return None
    operands = [(*steps[:lead], *(0,) * len(common), *steps[lead:])]
    for index in indices:
        missing = len(common) - len(index._ms_shape)
        around = (*(1,) * lead, *index._ms_shape, *(1,) * (len(lengths) - lead))
        wide = (*(1,) * missing, *around)
        found = view_strides(index._ms_shape, strides_of(index), around) or contiguous_strides(around)
        found = (*(0,) * missing, *found)
        operands.append(tuple(step if own == length else 0 for step, own, length in zip(found, wide, result)))
    return iterated_strides(result, operands)


def setitem(self: TensorBase, key: Any, value: Any) -> None:
    """Implement ``self[key] = value``, with ``value`` broadcast to the part and cast to the tensor's dtype."""
    if key is False:
        return  # as in torch, for any value
    if key is True:
        key = None
    if isinstance(value, (np.ndarray, np.bool_)):
        raise not_assigned(value, self)
    if value.__class__ is complex:
        number_as(value, self)
    part = window_of_mask(self, key, value, _expanded, _basic)
    if part is not None:
        warn_if_expanded(part[0], "masked_fill_", "tensor[mask] = scalar")
        fill(part, value)
        return
    try:
        current, advanced = (self, {}) if is_whole(key, self._ms_shape) else _basic(self, key)
    except IndexError as error:
        if about(error) is WRONG_MASK:  # torch checks masks last
            check_history(self)
            if isinstance(value, TensorBase) and not (math.prod(value._ms_shape) == 1 and lone_mask(key) is not None):
                refuse_partial_overlap(_view_with_full_slices(self, key), without_leading_ones(value), alike=False)
        raise
    if current is not self and (0 not in self._ms_shape or has_full_slices(key)) and (advanced or self._ms_dtype.is_integral) and (
        current._ms_shape == self._ms_shape and current._ms_offset == self._ms_offset and strides_of(current) == strides_of(self)
    ):
        current = self  # as in torch, a view of all elements is replaced by the tensor
    if value is current and not advanced and current._ms_stride is not None and overlaps(current._ms_shape, current._ms_stride):
        check_history(current)
        touch(current)
        return
    if advanced:
        mask = lone_mask(key)
        if mask is not None and (is_number(value) or isinstance(value, TensorBase) and math.prod(value._ms_shape) == 1):
            refuse_mask_of_bytes(mask)
            refuse_codes("masked_fill", current)
            warn_if_expanded(current, "masked_fill_", "tensor[mask] = scalar")
        else:
            warn_if_expanded(current, "index_put_", "tensor[indices] = tensor")
        _put_advanced(current, advanced, value, masked=mask is not None)
        return
    if is_number(value):
        write_array(current, number_as(value, current), label="FillBackward3")
        return
    number = isinstance(value, TensorBase) and not value._ms_shape and current._ms_shape  # torch treats it as a number
    if isinstance(value, TensorBase) and value._ms_storage is current._ms_storage:
        if value._ms_shape != current._ms_shape:
            value = without_leading_ones(value)
        same = stands_in(value, current)
        if same and not (modes.grad and (is_tracked(value) or is_tracked(current))):
            check_history(current)
            if number:
                refuse_shared_places(current)
            touch(current)
            return
        if value._ms_shape != current._ms_shape and not number and math.prod(value._ms_shape) == math.prod(current._ms_shape) == 1:
            refuse_partial_overlap(current, value, alike=False)  # torch compares the strides of one-element views too
        if same or number:
            value = contiguous_copy(value)
    check_writable(current)
    assign(current, fitted(value, current, current._ms_shape), "FillBackward3" if number else "CopyBackwards", given=True)


def _put_advanced(current: TensorBase, advanced: dict[int, Any], value: Any, masked: bool) -> None:
    if is_number(value):
        number_as(value, current)  # as in torch, the number is checked first, then autograd's rules, then the indices
    check_history(current)
    refuse_exponents(current)
    shape = current._ms_shape
    single = masked and isinstance(value, TensorBase) and math.prod(value._ms_shape) == 1  # torch uses masked_fill
    if isinstance(value, TensorBase) and not single:
        refuse_partial_overlap(current, without_leading_ones(value), alike=False)
    elif single and value._ms_storage is current._ms_storage:
        value = contiguous_copy(value)
    common, dims, adjacent = _plan(advanced)
    rest = [shape[d] for d in range(len(shape)) if d not in dims]
    if adjacent:
        target = (*rest[: dims[0]], *common, *rest[dims[0] :])
    else:
        target = (*common, *rest)
    if 0 in shape:
        _refuse_places_in_nothing(shape, advanced)
    try:
        source = filling(value, current, target)
    except RuntimeError:
        if isinstance(value, TensorBase):
            own = value._ms_shape
            while own[:1] == (1,):
                own = own[1:]  # torch's message omits them
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(own)} cannot be broadcast to indexing result "
                f"of shape {list(target)}"
            ) from None
        raise
    if isinstance(value, TensorBase) and value._ms_shape:
        check_one_device(value, current)
    if isinstance(value, TensorBase) and not single:
        expect_dtype_of(current, value)
    elif single and value._ms_dtype is not current._ms_dtype and readable(value) is not None:
        fitting(value.item(), current._ms_dtype)
    _check_bounds(shape, advanced)  # last, as in torch
    indices = tuple(advanced[d] for d in dims)
    for index in indices:
        if index._ms_storage is current._ms_storage:
            refuse_partial_overlap(current, index, alike=False)
    _put_indexed(current, advanced, source, indices, common, adjacent)


def _put_indexed_in_array(current: TensorBase, advanced: dict[int, Any], source: TensorBase, indices: tuple[Any, ...], *plan: Any) -> bool:
    places = tuple(array_of(advanced[d]) if d in advanced else slice(None) for d in range(len(current._ms_shape)))
    put_at(current, places, source, indices)
    return True


def _put_indexed_on_device(
    current: TensorBase, advanced: dict[int, Any], source: TensorBase, indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool
) -> bool | None:
    dims = tuple(sorted(advanced))
    if put_by_one_kernel(current, dims, indices, common, adjacent, beside(source, current), False):
        return True
    if LEVELS:
        return None
    put_on_device(current, flat_positions(current._ms_shape, dims, indices, common, adjacent, current), source, indices)
    return True


def _put_indexed_unread(current: TensorBase, advanced: dict[int, Any], source: TensorBase, *plan: Any) -> bool:
    write(current, through("IndexPutBackward0", _unchanged_on_meta, (current, source), host=_unchanged_on_meta))
    return True


@ways(host=_put_indexed_in_array, device=_put_indexed_on_device, absent=_put_indexed_unread)
def _put_indexed(
    current: Any, advanced: dict[int, Any], source: Any, indices: tuple[Any, ...], common: tuple[int, ...], adjacent: bool
) -> None:
    """Write ``source`` at index tensors: ``advanced`` has them by dimension, ``indices`` in order and broadcast to one shape."""
    positions = flat_positions(current._ms_shape, tuple(sorted(advanced)), indices, common, adjacent, current)
    kernel_of = _scatter[current._ms_dtype.name]

    def put(raw: Any, new: Any, index: Any) -> Any:
        return kernel_of(raw, index, new)

    source = beside(contiguous_copy(source), current)
    old = contiguous_copy(current) if LEVELS else current  # the node keeps it and its tangents, which are written to next
    write(current, through("IndexPutBackward0", put, (old, source), (positions,), linear=True))


def _unchanged_on_meta(old: Array, new: Array) -> Array:
    """Return ``old``, for a write on the meta device: the result has the target's shape, and there are no values."""
    return old


def planned(input: Any, key: Any) -> tuple[Any, ...]:
    """Resolve a key of tensors and full slices: return dimensions, indices, broadcast shape, and whether the dimensions are adjacent."""
    current, advanced = _basic(input, key)
    common, dims, adjacent = _plan(advanced)
    _check_bounds(current._ms_shape, advanced)
    return dims, tuple(advanced[d] for d in dims), common, adjacent


def put_at(target: TensorBase, key: tuple[slice | Array, ...], source: TensorBase, watched: tuple[Any, ...] = ()) -> None:
    """Write ``target[key] = source`` in memory for a key of arrays and slices; backward reads the source's gradient at the key.

    ``watched`` are the tensors behind the key's arrays, which backward reads again.
    """
    check_writable(target, uniform=True)  # torch only warns if elements share memory
    values = array_of(source)
    record = modes.grad and (is_tracked(target) or is_tracked(source))
    made = None
    if record:
        if is_tracked(source):
            check_view(target)
        # The target after the write, as an operation on the old target and the source.
        before = snapshot(target)
        made = watch(_IndexPut.recorded(before, source, key=key, shape=before._ms_shape), *watched)
    if 0 not in target._ms_shape:
        array_of(target)[key] = values
    touch(target)
    if record:
        settle(target, made, "IndexPutBackward0")
    if LEVELS:
        write_parts(target, source, lambda tangent, part: put_at(tangent, key, part))


class _IndexPut(Put):
    """The node of a write at index tensors."""

    __slots__ = ("key", "shape")
    key: Any
    shape: Any

    def run(self, gradients: Sequence[TensorBase | Array], recorded: bool) -> tuple[TensorBase | Array | None, ...]:
        """Return the gradient of the tensor before the write, which is 0 at the written indices, and the gradient of the source: the
        elements at these indices. None stands for a gradient that is not needed."""
        gradient = gradients[0]
        rest = None if self.edges[0] is None else self._map(gradient, self._without, self._without)
        part = None if self.edges[1] is None else self._map(gradient, self._taken, self._given)
        return rest, part

    def _map(self, gradient: TensorBase | Array, forward: Callable[..., Any], back: Callable[..., Any]) -> TensorBase | Array:
        return linear(gradient, forward, back, self.label) if isinstance(gradient, TensorBase) else forward(gradient)

    def _without(self, array: Array) -> Array:
        found = array.copy()
        found[self.key] = 0
        return found

    def _taken(self, array: Array) -> Array:
        return np.ascontiguousarray(array[self.key])

    def _given(self, array: Array) -> Array:
        found = np.zeros(self.shape, array.dtype)
        np.add.at(found, self.key, array)
        return found
