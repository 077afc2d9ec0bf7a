"""What a kernel is given, and what it gives: tensors as arrays or MindSpore's values, and back."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._backend import shapes
from .._backend.constants import constant_of
from .._backend.raw import ON_CPU, Raw
from .._core.device_tensors import device_tensor
from .._core.dtype import OF_MS, OF_NP
from .._core.modes import modes, shapes_only
from .._core.storage import DeviceMemory, Storage
from .._core.strides import Strides, broadcast_shape, dense_order
from .._core.tensor_base import (
    TensorBase,
    array_of,
    laid_out,
    meta_tensor,
    strides_of,
    tensor_of,
    value_of,
    wrap,
)
from .mirrored import all_resolved, has_mirrored
from .places import Shaped, on_host, shaped, without_memory

_SIMPLE = frozenset((int, float, bool, complex, str, type(None)))


def all_simple(args: tuple[Any, ...]) -> bool:
    """Return True if no argument is or contains an array or a tensor."""
    for arg in args:
        if arg.__class__ not in _SIMPLE and not (arg.__class__ is tuple and _SIMPLE.issuperset(map(type, arg))):
            return False
    return True


def arrays_of(args: tuple[Any, ...], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Tensors among the arguments as arrays; those without memory only beside inputs without memory."""
    if all_simple(args):
        return args
    plain = _plain(args)
    if plain is not None:
        return plain
    if without_memory(args):
        if not without_memory(inputs):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        with shapes_only():
            return tuple(map(as_array, args))
    return tuple(map(as_array, args))


def _plain(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with arrays for tensors on the host, at the least cost; None if there is anything else among them."""
    found: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in _SIMPLE or kind is np.ndarray:
            found.append(arg)
        elif kind is tuple:
            inner = _plain(arg)
            if inner is None:
                return None
            found.append(inner)
        elif isinstance(arg, TensorBase) and arg._storage.__class__ is Storage:
            found.append(array_of(arg))
        else:
            return None
    return tuple(found)


def as_array(item: Any) -> Any:
    if isinstance(item, TensorBase):
        return array_of(item)
    if item.__class__ is np.ndarray or item.__class__ in _SIMPLE:
        return item
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(as_array(part) for part in item)
    return item


def as_raw(item: Any) -> Any:
    """A tensor or array, or a sequence with such, as MindSpore's values; anything else as it is."""
    if isinstance(item, TensorBase):
        if not ON_CPU and not item._shape and item._storage.__class__ is Storage and modes.native is None:
            return constant_of(array_of(item))
        return value_of(item)
    if item.__class__ is np.ndarray:
        return constant_of(item)
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(as_raw(part) for part in item)
    return item


def tensors_as_raw(item: Any) -> Any:
    """A tensor, or tensors in a sequence, as MindSpore's values; arrays and anything else as they are."""
    if isinstance(item, TensorBase):
        return value_of(item)
    if isinstance(item, (list, tuple)) and any(isinstance(part, TensorBase) for part in item):
        return tuple(map(tensors_as_raw, item))
    return item


def in_order_of_memory(function: Any, name: str, inputs: Sequence[Any], strides: Strides) -> Any:
    """What a pointwise kernel of a device gives, in memory that lies as ``strides`` say: operands are shown to it in that order."""
    shape: tuple[int, ...] = ()
    for item in inputs:
        shape = broadcast_shape(shape, item._shape if isinstance(item, TensorBase) else np.shape(item))
    order = dense_order(shape, strides)
    assert order is not None, "the result of an operation is dense"
    raw = function(*[_in_order(item, name, len(shape), order) for item in inputs])
    return device_tensor(raw, OF_MS[raw.dtype], shape, strides)


def _in_order(item: Any, name: str, rank: int, order: Sequence[int]) -> Any:
    """An operand's dimensions in another order, as many as the result has."""
    if item is None:
        return None
    if not isinstance(item, TensorBase):
        array = np.asarray(item)
        return constant_of(array.reshape((1,) * (rank - array.ndim) + array.shape).transpose(order)) if array.ndim else constant_of(array)
    lead = rank - len(item._shape)
    if lead == rank or item._storage.__class__ is not DeviceMemory:  # a number, of the CPU perhaps
        return value_of(item)
    shape, steps = (1,) * lead + item._shape, (0,) * lead + strides_of(item)
    return item._storage.read(name, tuple(shape[d] for d in order), tuple(steps[d] for d in order), item._offset)


def wrapped(value: Any, strides: Any = None) -> Any:
    if value.__class__ is np.ndarray:
        return laid_out(value, strides)
    if isinstance(value, Raw):
        return wrap(value, strides)
    if isinstance(value, np.generic):
        return tensor_of(np.asarray(value))
    if value.__class__ is Shaped:
        return meta_tensor(value.shape, OF_NP[value.dtype], strides)
    if isinstance(value, (tuple, list)):
        return tuple(wrapped(item) for item in value)
    return value


def computed(kernel_: Any, *operands: Any) -> Any:
    """What a kernel makes of tensors of one dtype, and of what else it takes, as tensors without a history where the first one is."""
    first = operands[0]
    if modes.native is None and has_mirrored(operands):
        operands = all_resolved(operands)
    if modes.native is None and on_host(operands):
        return wrapped(kernel_.host[first._dtype.name](*map(as_array, operands)))
    if modes.native is None and without_memory(operands):
        with shapes_only():
            given = tuple(map(as_array, operands))
            return wrapped(shaped(shapes.told(kernel_.op, kernel_.host[first._dtype.name], given, ())))
    return wrapped(kernel_[first._dtype.name](*map(as_raw, operands)))
