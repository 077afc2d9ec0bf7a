"""Conversion of kernel arguments and results: tensors to arrays or MindSpore values, and back."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..backend import shapes
from ..backend.arrays import Array
from ..backend.constants import constant_of
from ..backend.float8 import HELD, STORED
from ..backend.raw import ON_CPU, Raw, from_numpy, raw_dtype
from ..backend.table import Kernel, moves_bytes, on_fallback
from ..core.device_tensors import device_tensor
from ..core.dtype import OF_MS, OF_NP, by_name, dtype
from ..core.modes import modes, shapes_only
from ..core.no_memory import limit_reached
from ..core.storage import DeviceMemory, Storage
from ..core.strides import Strides, broadcast_shape, dense_layout
from ..core.tangents import LEVELS
from ..core.tensor_base import (
    TensorBase,
    array_of,
    fresh,
    laid_out,
    meta_tensor,
    on_device,
    strides_of,
    tensor_of,
    value_of,
    wrap,
)
from .mirrored import all_resolved, has_mirrored
from .places import Shaped, check_meta, check_places, elsewhere, kind_among, shaped, without_memory

Operand: TypeAlias = TensorBase | Array | Raw
"""Operand of a gradient rule: a tensor, if autograd tracks the backward pass, or a raw array of the host or of a device."""
SIMPLE = frozenset((int, float, bool, complex, str, type(None)))


def all_simple(args: tuple[Any, ...]) -> bool:
    """Return True if none of the arguments is or contains an array or a tensor."""
    for arg in args:
        if arg.__class__ not in SIMPLE and not (arg.__class__ is tuple and SIMPLE.issuperset(map(type, arg))):
            return False
    return True


def arrays_of(args: tuple[Any, ...], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with tensors as arrays; a meta tensor is allowed only if the inputs are meta tensors."""
    if all_simple(args):
        return args
    plain = _host_arrays(args)
    if plain is not None:
        return plain
    if without_memory(args):
        if not without_memory(inputs):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        with shapes_only():
            return tuple(map(as_array, args))
    return tuple(map(as_array, args))


def _host_arrays(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Fast path: return the arguments with host tensors as arrays; None if an argument is neither simple nor a host tensor."""
    found: list[Any] = []
    for arg in args:
        kind = arg.__class__
        if kind in SIMPLE or kind is np.ndarray:
            found.append(arg)
        elif kind is tuple:
            inner = _host_arrays(arg)
            if inner is None:
                return None
            found.append(inner)
        elif isinstance(arg, TensorBase) and arg._ms_storage.__class__ is Storage:
            found.append(array_of(arg))
        else:
            return None
    return tuple(found)


def as_array(item: TensorBase | bool | Array) -> Any:
    if isinstance(item, TensorBase):
        return array_of(item)
    if item.__class__ is np.ndarray or item.__class__ in SIMPLE:
        return item
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(as_array(part) for part in item)
    return item


def as_raw(item: float | Operand | Sequence[TensorBase | Raw | int] | None) -> Any:
    """Return a tensor or array, or a sequence of these, as MindSpore tensors; other values unchanged."""
    if isinstance(item, TensorBase):
        if not ON_CPU and not item._ms_shape and item._ms_storage.__class__ is Storage and modes.native is None:
            return constant_of(array_of(item))
        return value_of(item)
    if item.__class__ is np.ndarray:
        return constant_of(item)
    if isinstance(item, (list, tuple)) and any(isinstance(part, (TensorBase, np.ndarray)) for part in item):
        return tuple(as_raw(part) for part in item)
    return item


def _without_tensors(item: Any, given: Any) -> Any:
    """Return an argument with its MindSpore form ``given`` in the place of tensors; arrays and other values stay."""
    if isinstance(item, TensorBase):
        return given
    if isinstance(item, (list, tuple)) and any(isinstance(part, TensorBase) for part in item):
        return tuple(map(_without_tensors, item, given))
    return item


def in_order_of_memory(function: Callable[..., Any], name: str, inputs: Sequence[Any], strides: Strides) -> TensorBase:
    """Run an elementwise device kernel so that its result has the given strides: the operands are permuted to that memory order."""
    shape: tuple[int, ...] = ()
    for item in inputs:
        shape = broadcast_shape(shape, item._ms_shape if isinstance(item, TensorBase) else np.shape(item))
    order = dense_layout(shape, strides)[0]
    raw = function(*[_in_order(item, name, len(shape), order) for item in inputs])
    return device_tensor(raw, OF_MS[raw_dtype(raw)], shape, strides)


def _in_order(item: Operand | None, name: str, rank: int, order: Sequence[int]) -> Raw:
    """Add leading dimensions to an operand up to ``rank``, then permute its dimensions."""
    if item is None:
        return None
    if not isinstance(item, TensorBase):
        array = np.asarray(item)
        return constant_of(array.reshape((1,) * (rank - array.ndim) + array.shape).transpose(order)) if array.ndim else constant_of(array)
    lead = rank - len(item._ms_shape)
    if lead == rank or item._ms_storage.__class__ is not DeviceMemory:  # a 0-d tensor, possibly on the CPU
        return value_of(item)
    shape, steps = (1,) * lead + item._ms_shape, (0,) * lead + strides_of(item)
    return item._ms_storage.read(name, tuple([shape[d] for d in order]), tuple([steps[d] for d in order]), item._ms_offset)


def wrapped(value: Any, strides: tuple[int, ...] | None = None) -> Any:
    if value.__class__ is np.ndarray:
        if strides is None and modes.native is None and value.flags.c_contiguous:
            return fresh(value)
        return laid_out(value, strides)
    if value.__class__ is tuple:
        return tuple(map(wrapped, value))
    if isinstance(value, Raw):
        return wrap(value, strides)
    if isinstance(value, np.generic):
        return tensor_of(np.asarray(value))
    if value.__class__ is Shaped:
        return meta_tensor(value.shape, OF_NP[value.dtype], strides)
    return tuple(map(wrapped, value)) if isinstance(value, (tuple, list)) else value


def _in_arrays(op: Kernel, name: str, inputs: Sequence[Any], args: tuple[Any, ...], strides: Any, pointwise: bool) -> tuple[Any, Any]:
    args = arrays_of(args, inputs)
    try:
        return wrapped(op.host[name](*map(as_array, inputs), *args), strides), args
    except (MemoryError, ValueError, IndexError) as error:
        told = limit_reached(error, *inputs, *args)
        if told is None:
            raise
        raise told from None


def _of_shapes(
    op: Kernel, name: str, inputs: Sequence[Any], args: tuple[Any, ...], strides: tuple[int, ...] | None, pointwise: bool
) -> tuple[Any, Any]:
    args = arrays_of(args, inputs)
    check_places(op.op, inputs)
    check_meta(op.op)
    with shapes_only():
        return wrapped(shaped(shapes.told(op.op, op.host[name], tuple(map(as_array, inputs)), args)), strides), args


def _raw_of(item: Operand | list[TensorBase] | None, inputs: Sequence[Any]) -> Any:
    """Return an operand as a device kernel takes it; 0-d CPU tensors may be combined with any device."""
    if isinstance(item, TensorBase):
        storage = item._ms_storage
        if storage.__class__ is DeviceMemory:
            return value_of(item)
        if storage.__class__ is Storage and item._ms_shape:
            raise elsewhere(inputs)
    elif item.__class__ is list:
        return tuple([_raw_of(part, inputs) for part in item])
    return as_raw(item)


def compute_on_device(
    op: Kernel, name: str, inputs: Sequence[Any], args: tuple[Any, ...], strides: tuple[int, ...] | None, pointwise: bool
) -> tuple[Any, Any]:
    """Run a kernel as ``compute`` does, on operands that are on a device and on numbers."""
    if name in STORED and not moves_bytes(op.op):
        return _codes_by_host(op, name, inputs, args, strides)
    raws: list[Any] = []
    for item in inputs:
        at = item._ms_at if isinstance(item, TensorBase) else None
        # `value_of` of a tensor that was read before, written out: operands of nearly every kernel are
        if at is not None and at[0] is item._ms_storage and at[0].__class__ is DeviceMemory and at[1] == at[0].exchanges:
            window = item._ms_raw
            raws.append(at[0].base if window is None else window.raw)
        else:
            raws.append(_raw_of(item, inputs))
    if pointwise and strides is not None and not args and name not in STORED:
        return in_order_of_memory(op[name], name, inputs, strides), args
    if not args or all_simple(args):
        found = op[name](*raws, *args)
    else:
        given = tuple(map(as_raw, args))
        found = op[name](*raws, *given)
        args = tuple(map(_without_tensors, args, given)) if modes.grad or LEVELS else args  # as the node saves them
    result = on_device(found, strides) if found.__class__ is Raw else wrapped(found, strides)
    return (_of_bytes(result, by_name(name)) if name in STORED else result), args


def _of_bytes(value: TensorBase | list[Any] | tuple[Any, ...], kind: dtype) -> Any:
    """Return the kernel's results, with their dtype set to ``kind`` if it is the integer dtype in which MindSpore stores ``kind``."""
    if isinstance(value, (tuple, list)):
        return tuple(_of_bytes(item, kind) for item in value)
    if isinstance(value, TensorBase) and value._ms_dtype.name == HELD[kind.name]:
        value._ms_dtype = kind
    return value


def _codes_by_host(op: Kernel, name: str, inputs: Sequence[Any], args: tuple[Any, ...], strides: Any) -> tuple[Any, Any]:
    """Compute on the host for device tensors whose dtype MindSpore stores as bytes. Return the results on the device, and the arguments."""
    for told in on_fallback:
        told(op.op)
    found = op.host[name](*map(as_array, inputs), *map(as_array, args))

    def placed(array: Array | list[Any] | tuple[Any, ...]) -> Any:
        if isinstance(array, (tuple, list)):
            return tuple(map(placed, array))
        return on_device(from_numpy(np.asarray(array, order="C")), strides, OF_NP[array.dtype])

    return placed(found), args


def _in_block(op: Kernel, name: str, inputs: Sequence[Any], args: tuple[Any, ...], strides: Any, pointwise: bool) -> tuple[Any, Any]:
    given = tuple(map(as_raw, args))
    result = wrapped(op[name](*map(as_raw, inputs), *given), strides)
    if name in STORED:
        result = _of_bytes(result, by_name(name))
    return result, args if modes.native is not None or all_simple(args) else tuple(map(_without_tensors, args, given))


_COMPUTE = {"host": _in_arrays, "mirrored": _in_arrays, "absent": _of_shapes, "device": compute_on_device, "captured": _in_block}


def compute(
    op: Any, name: str, inputs: Sequence[Any], args: tuple[Any, ...] = (), strides: tuple[int, ...] | None = None, pointwise: bool = False
) -> tuple[Any, Any]:  # fmt: skip
    """Run a kernel on its operands' device; return the result, and the arguments that a node saves, as raw arrays.

    ``op[name]`` is the function of MindSpore tensors for a dtype, ``op.host`` those of NumPy arrays. The result has ``strides``; for
    ``pointwise`` see ``apply``.
    """
    kind = kind_among(inputs)
    if kind == "mirrored" and has_mirrored(inputs):
        return compute(op, name, all_resolved(tuple(inputs)), args, strides, pointwise)
    return _COMPUTE[kind](op, name, inputs, args, strides, pointwise)


def computed(kernel_: Kernel, *operands: Any) -> Any:
    """Run a kernel on tensors of one dtype and further arguments; return detached tensors on the device of the first."""
    return compute(kernel_, operands[0]._ms_dtype.name, operands)[0]
