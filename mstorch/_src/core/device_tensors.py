"""Tensors over new device memory, and meta tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..backend.raw import Raw
from . import device as devices
from .dtype import dtype
from .marks import mark
from .modes import modes
from .storage import DeviceMemory
from .strides import Strides
from .tensor_base import meta_tensor, to_meta, window

if TYPE_CHECKING:
    from .tensor_base import TensorBase


def device_tensor(base: Raw, kind: dtype, shape: tuple[int, ...], strides: Strides | None) -> TensorBase:
    """Return a tensor over the elements of ``base`` in memory order, with the given shape and strides."""
    made = window(DeviceMemory(base), kind, shape, strides, 0)
    if modes.marks:
        mark(made)
    return made


def without_values(
    place: int | str | devices.device | None, kind: dtype, shape: tuple[int, ...], strides: Strides | None = None,
    requires_grad: bool = False
) -> TensorBase | None:
    """Return a meta tensor for the meta device, None for other devices."""
    return meta_tensor(shape, kind, strides, requires_grad) if devices.is_meta(place) else None


def as_asked(tensor: TensorBase, place: int | str | devices.device) -> TensorBase:
    """Return a tensor that was made on the host, converted to a meta tensor if ``place`` is the meta device."""
    return to_meta(tensor, tensor.requires_grad) if devices.is_meta(place) else tensor
