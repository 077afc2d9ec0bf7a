"""``tensor[key] = value``, with all of torch's keys."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.errors import WRONG_MASK, about
from ...backend.table import kernel
from ...core.dtype import bool_
from ...core.modes import modes
from ...core.one_device import check_one_device
from ...core.strides import overlaps
from ...core.tangents import LEVELS
from ...core.tensor_base import TensorBase, array_of, is_tracked, strides_of, touch
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
from ...tape.saved_values import watch
from ...tape.ways import ways
from ...tape.windows import linear
from ...tape.writes import assign, settle, snapshot
from .._dispatch import contiguous_copy, is_number, readable, refuse_codes, write, write_array
from .._numbers import fitting
from ._flat_put import Put, filling, flat_positions, put_by_one_kernel, put_on_device
from ._index_checks import expect_dtype_of
from ._keys import has_full_slices, is_whole, lone_mask, refuse_mask_of_bytes
from ._mask_fill import fill, window_of_mask
from ._values_put import fitted, not_assigned, number_as, refuse_exponents, stands_in, without_leading_ones
from .subscript import as_index, basic_view, check_bounds, items_of, plan_of, refuse_places_in_empty

_scatter = kernel("storage_scatter")


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
    part = window_of_mask(self, key, value, items_of, basic_view)
    if part is not None:
        warn_if_expanded(part[0], "masked_fill_", "tensor[mask] = scalar")
        fill(part, value)
        return
    current, advanced = _target(self, key, value)
    if advanced:
        _put_advanced(current, advanced, value, lone_mask(key))
    elif is_number(value):
        write_array(current, number_as(value, current), label="FillBackward3")
    else:
        _put_in_view(current, value)


def _target(self: TensorBase, key: Any, value: Any) -> tuple[TensorBase, dict[int, Any]]:
    """Return the view to write to, and the key's index tensors by dimension of that view."""
    try:
        current, advanced = (self, {}) if is_whole(key, self._ms_shape) else basic_view(self, key)
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
    return current, advanced


def _put_in_view(current: TensorBase, value: Any) -> None:
    """Write a tensor, or what can be one, to a view."""
    if value is current and current._ms_stride is not None and overlaps(current._ms_shape, current._ms_stride):
        check_history(current)
        touch(current)
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


def _put_advanced(current: TensorBase, advanced: dict[int, Any], value: Any, mask: Any) -> None:
    """Write a value at index tensors. ``mask``: the one from which they come, if the key has no other."""
    is_tensor = isinstance(value, TensorBase)
    number = not is_tensor and is_number(value)
    single = mask is not None and is_tensor and math.prod(value._ms_shape) == 1  # torch uses masked_fill
    if single or mask is not None and number:
        refuse_mask_of_bytes(mask)
        refuse_codes("masked_fill", current)
        warn_if_expanded(current, "masked_fill_", "tensor[mask] = scalar")
    else:
        warn_if_expanded(current, "index_put_", "tensor[indices] = tensor")
    if number:
        number_as(value, current)  # as in torch, the number is checked first, then autograd's rules, then the indices
    check_history(current)
    refuse_exponents(current)
    if single and value._ms_storage is current._ms_storage:
        value = contiguous_copy(value)
    elif is_tensor and not single:
        refuse_partial_overlap(current, without_leading_ones(value), alike=False)
    shape = current._ms_shape
    common, dims, adjacent = plan_of(advanced)
    rest = [shape[d] for d in range(len(shape)) if d not in dims]
    lead = dims[0] if adjacent else 0
    target = (*rest[:lead], *common, *rest[lead:])
    if 0 in shape:
        refuse_places_in_empty(shape, advanced)
    try:
        source = filling(value, current, target)
    except RuntimeError:
        if is_tensor:
            raise _shape_mismatch(value, target) from None
        raise
    if is_tensor:
        _check_operand(value, current, single)
    check_bounds(shape, advanced)  # last, as in torch
    indices = tuple([advanced[d] for d in dims])
    for index in indices:
        if index._ms_storage is current._ms_storage:
            refuse_partial_overlap(current, index, alike=False)
    _put_indexed(current, advanced, source, indices, common, adjacent)


def _shape_mismatch(value: TensorBase, target: tuple[int, ...]) -> RuntimeError:
    own = value._ms_shape
    while own[:1] == (1,):
        own = own[1:]  # torch's message omits them
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(own)} cannot be broadcast to indexing result of shape {list(target)}"
    )


def _check_operand(value: TensorBase, current: TensorBase, single: bool) -> None:
    """Raise torch's error for a tensor of another device or dtype. One element (``single``) may have any dtype that holds its number."""
    if value._ms_shape:
        check_one_device(value, current)
    if not single:
        expect_dtype_of(current, value)
    elif value._ms_dtype is not current._ms_dtype and readable(value) is not None:
        fitting(value.item(), current._ms_dtype)


def _view_with_full_slices(self: TensorBase, key: TensorBase | tuple[Any, ...]) -> TensorBase:
    """Return the view that the ints, slices and Nones of a key select, with a full slice in place of each index tensor and mask."""
    items: list[Any] = []
    for item in items_of(key, len(self._ms_shape)):
        if not isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            items.append(item)
            continue
        index = as_index(item)
        items += [slice(None)] * len(index._ms_shape) if index._ms_dtype is bool_ else [slice(None) if index._ms_shape else index]
    return basic_view(self, tuple(items))[0]


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
