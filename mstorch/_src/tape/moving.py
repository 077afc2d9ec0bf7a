"""Recorded copies between devices: host, accelerator and meta."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.arrays import Array
from ..backend.cast import numpy_cast
from ..backend.float8 import typed
from ..backend.raw import ON_CPU, Raw, from_numpy
from ..backend.tape import refuse_cpu_in_trace
from ..core import device as devices
from ..core.above import copied
from ..core.device import device
from ..core.dtype import dtype
from ..core.modes import modes
from ..core.storage import NATIVE, DeviceMemory
from ..core.tensor_base import TensorBase, array_of, is_meta, is_tracked, laid_out, meta_tensor, on_device, strides_of
from .bare import bare
from .node import Node, edge_of, named

_NO_DATA = "Cannot copy out of meta tensor; no data!"


def _to_host(value: Raw) -> Array:
    return value if value.__class__ is np.ndarray else value.asnumpy().copy()


def _to_accelerator(value: Array) -> Raw:
    return from_numpy(np.array(value, order="C")) if value.__class__ is np.ndarray else value


class _Moved(Node):
    """Node of a copy to another device; backward copies the gradient back."""

    __slots__ = ("back",)
    back: Callable[[Any], Any]

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient on the source's device."""
        gradient = gradients[0]
        if isinstance(gradient, TensorBase):
            return (moved(gradient, self.back is _to_host),)
        return (self.back(gradient),)


def moved(tensor: TensorBase, home: bool) -> TensorBase:
    """Return a copy of a tensor on the host (``home``) or on the accelerator, with the same strides; autograd tracks it."""
    strides = None if tensor._ms_stride is None else strides_of(tensor)
    if home:
        made = laid_out(copied(tensor, typed(_to_host(bare(tensor)), tensor._ms_dtype.np)), strides if _dense(tensor) else None)
    else:
        array = array_of(tensor)
        made = on_device(_to_accelerator(array), strides if _dense(tensor) else None, tensor._ms_dtype)
        if (tensor._ms_dtype.is_integral or array.size == 1) and made._ms_stride is None:
            made._ms_storage.shadow = np.array(array, order="C")
    if modes.grad and is_tracked(tensor):
        node: Any = named(_Moved, "ToCopyBackward0")((edge_of(tensor),))
        node.back = _to_accelerator if home else _to_host
        made._ms_node = node
    return made


def _dense(tensor: TensorBase) -> bool:
    count = int(np.prod(tensor._ms_shape))
    return count > 0 and 1 + sum((n - 1) * s for n, s in zip(tensor._ms_shape, strides_of(tensor))) == count and 0 not in strides_of(tensor)


def brought(tensor: TensorBase, place: device) -> TensorBase:
    """Return a tensor on a device; a tensor that is there already is not copied. Raise NotImplementedError for a meta tensor."""
    if is_meta(tensor) and place is not devices.META:
        raise NotImplementedError(_NO_DATA)
    if place is devices.META:
        return tensor if is_meta(tensor) else _without_memory(tensor)
    if ON_CPU or (tensor._ms_storage.__class__ in NATIVE) == (place.type != "cpu"):
        return tensor
    if modes.native is not None:
        refuse_cpu_in_trace("a tensor is copied between the CPU and the device")
        return tensor
    return moved(tensor, place.type == "cpu")


class _Emptied(Node):
    """Node of a copy to the meta device."""

    __slots__ = ()

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Raise NotImplementedError: the gradient has no values."""
        raise NotImplementedError(_NO_DATA)


def _without_memory(tensor: TensorBase) -> TensorBase:
    """Return a copy on the meta device, with the tensor's strides where these leave no gaps; autograd tracks it."""
    made = meta_tensor(tensor._ms_shape, tensor._ms_dtype, strides_of(tensor) if _dense(tensor) else None)
    if modes.grad and is_tracked(tensor):
        made._ms_node = named(_Emptied, "ToCopyBackward0")((edge_of(tensor),))
    return made


def beside(constant: TensorBase, like: Any) -> Any:
    """Return a constant made on the host, on the device of a tensor."""
    if modes.native is None and is_meta(like):
        return constant if is_meta(constant) else meta_tensor(constant._ms_shape, constant._ms_dtype)
    if ON_CPU or modes.native is not None or like._ms_storage.__class__ not in NATIVE or constant._ms_storage.__class__ in NATIVE:
        return constant
    return moved(constant, False)


def stays_readable(made: TensorBase, source: TensorBase, kind: dtype) -> None:
    """Mark integers cast on a device as readable without a transfer if their source is."""
    storage = made._ms_storage
    if storage.__class__ is DeviceMemory and source._ms_storage.reads_are_free:
        storage.shadow = numpy_cast(array_of(source), kind.np)
