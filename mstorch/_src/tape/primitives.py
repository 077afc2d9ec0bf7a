"""Operations that gradient rules call: on raw arrays they only compute, on tensors autograd tracks them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.constants import number_of
from ..backend.raw import NAME_OF, NAME_OF_NP, NP_DTYPE, Raw, raw_dtype, raw_shape
from ..backend.table import kernel
from ..core.dtype import OF_MS, dtype
from ..core.storage import Storage
from ..core.strides import elementwise_strides
from ..core.tensor_base import TensorBase, strides_of, tensor_of
from .apply import apply
from .operands import Operand, as_raw

_BARE = frozenset((Raw, int, float, bool, str, type(None)))


class Primitive:
    """An operation that gradient rules call: on raw arrays it only computes, on tensors autograd tracks it."""

    __slots__ = ("kernel", "elementwise")

    def __init__(self, op: str, elementwise: bool = False) -> None:
        self.kernel = kernel(op)
        self.elementwise = elementwise

    def __call__(self, *args: Any) -> Any:
        first = args[0]
        if first.__class__ is np.ndarray:
            found = self.kernel.host[NAME_OF_NP[first.dtype]](*args)
            return found if found.__class__ is np.ndarray or found.__class__ is tuple else np.asarray(found)
        if first.__class__ is Raw:
            if not _BARE.issuperset(map(type, args)):
                args = tuple([item if item.__class__ in _BARE else as_raw(item) for item in args])
            return self.kernel[NAME_OF[raw_dtype(first)]](*args)
        if isinstance(first, TensorBase):
            count = 1
            while count < len(args) and isinstance(args[count], TensorBase):
                count += 1
            return self.recorded(first._ms_dtype, args[:count], args[count:])
        return self.kernel[OF_MS[raw_dtype(first)].name](*[item if item.__class__ in _BARE else as_raw(item) for item in args])

    def recorded(self, kind: dtype, operands: tuple[Any, ...], args: tuple[Any, ...] = ()) -> TensorBase:
        """Apply the operation to tensors in a dtype, tracked by autograd."""
        return apply(self.kernel, kind, operands, args, strides=_strides(operands) if self.elementwise else None)


def elementwise(op: str) -> Primitive:
    """Return an elementwise operation: each element of the result depends on one element of each operand."""
    return Primitive(op, True)


def _strides(operands: tuple[Any, ...]) -> tuple[int, ...] | None:
    """Return the strides of an elementwise result, so that gradients are laid out like values, as in torch."""
    if all(operand._ms_stride is None for operand in operands):
        return None
    shape = np.broadcast_shapes(*[operand._ms_shape for operand in operands])
    return elementwise_strides(shape, tuple([(operand._ms_shape, strides_of(operand)) for operand in operands]))


def dtype_name(value: Operand) -> str:
    """Return the dtype's name for a raw array or a tensor."""
    if value.__class__ is Raw:
        return NAME_OF[raw_dtype(value)]
    if isinstance(value, TensorBase):
        return value._ms_dtype.name
    return NAME_OF_NP[value.dtype] if value.__class__ is np.ndarray else OF_MS[raw_dtype(value)].name


def shape_of(value: Operand) -> tuple[int, ...]:
    """Return the shape of a raw array or a tensor."""
    return value._ms_shape if isinstance(value, TensorBase) else raw_shape(value) if value.__class__ is Raw else tuple(value.shape)


_HALVES = frozenset(("float16", "bfloat16"))


def factor(number: float, like: Operand) -> Any:
    """Return a 0-d constant factor for a value; in single precision for half precision on the host."""
    name = dtype_name(like)
    of_host = isinstance(like, TensorBase) and like._ms_storage.__class__ is Storage
    if name not in _HALVES or not (like.__class__ is np.ndarray or of_host):
        return constant(number, like)
    array = np.asarray(number, np.float32)
    return array if like.__class__ is np.ndarray else _wrapped_number(array)


def _wrapped_number(array: Array) -> TensorBase:
    made = tensor_of(array)  # a 0-d tensor on the CPU, which any device accepts
    made.__dict__["_wrapped_number"] = True
    return made


def constant(number: float, like: Operand) -> Operand:
    """Return a 0-d constant with the dtype of ``like``, as a tensor if ``like`` is a tensor, else as a raw array."""
    name = dtype_name(like)
    if like.__class__ is Raw:
        return number_of(number, name)
    array = np.asarray(number, NP_DTYPE[name])
    return _wrapped_number(array) if isinstance(like, TensorBase) else array
