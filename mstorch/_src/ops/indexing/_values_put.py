"""Conversion of values to be written to a part of a tensor: dtype and shape."""
from __future__ import annotations

from typing import Any

from ...backend.arrays import Array
from ...core.dtype import float8_e8m0fnu
from ...core.tensor_base import TensorBase, strides_of, tensor_of
from ...core.writable import refuse_partial_overlap
from .._dispatch import cast_tensor, contiguous_copy, is_number, python_number, refuse_codes, type_word
from .._numbers import written
from .._scalars import scalar_array
from ..shape import views


def without_leading_ones(value: TensorBase) -> TensorBase:
    """Return a value without leading dimensions of length 1, which torch ignores when it compares the value's shape with the target's."""
    shape = value._ms_shape
    while shape and shape[0] == 1:
        shape = shape[1:]
    return value if shape is value._ms_shape else views.reshape(value, shape)


def stands_in(value: TensorBase, target: TensorBase) -> bool:
    """Return True if a value, broadcast to the target's shape, consists of the same elements of the same storage as the target."""
    if value._ms_storage is not target._ms_storage or value._ms_offset != target._ms_offset or value._ms_dtype is not target._ms_dtype:
        return False
    shape, own, steps = target._ms_shape, value._ms_shape, strides_of(value)
    if own != shape:
        while own and own[0] == 1:
            own, steps = own[1:], steps[1:]
        lead = len(shape) - len(own)
        if lead < 0 or any(length not in (1, wide) for length, wide in zip(own, shape[lead:])):
            return False
        steps = (0,) * lead + tuple(0 if length != wide else step for length, wide, step in zip(own, shape[lead:], steps))
    return tuple(steps) == strides_of(target)


def refuse_exponents(target: TensorBase) -> None:
    """Raise torch's error if the target of a write at index tensors is of dtype float8_e8m0fnu."""
    if target._ms_dtype is float8_e8m0fnu:
        refuse_codes("index_put", target)


def number_as(value: Any, target: TensorBase) -> Array:
    """Return a number as a 0-d array of the target's dtype. Raise torch's error on overflow."""
    return scalar_array(written(python_number(value), target._ms_dtype), target._ms_dtype)


def fitted(value: Any, target: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    """Convert a value to a tensor of the target's dtype and the given shape, tracked by autograd; it may share the value's memory."""
    if is_number(value):
        return views.expand(tensor_of(number_as(value, target).copy()), shape)
    if not isinstance(value, TensorBase):
        raise not_assigned(value, target)
    if value._ms_shape != shape:
        value = without_leading_ones(value)
        if len(value._ms_shape) > len(shape):
            views.expand(value, shape)  # which raises
    if value._ms_dtype is not target._ms_dtype:
        value = cast_tensor(value, target._ms_dtype)
    if value._ms_shape != shape:
        value = views.expand(value, shape)
    if value._ms_storage is target._ms_storage:
        refuse_partial_overlap(target, value)
        return contiguous_copy(value)
    return value


def type_name(value: Any) -> str:
    """Return the name of a value's class, with "numpy." before NumPy's."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def not_assigned(value: Any, target: TensorBase) -> TypeError:
    """Return torch's error for a value that cannot be written to a tensor."""
    return TypeError(f"can't assign a {type_name(value)} to a torch.{type_word(target._ms_dtype)}Tensor")
