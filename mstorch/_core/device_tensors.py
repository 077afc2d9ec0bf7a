"""Tensors over new memory of a device."""
from __future__ import annotations

from typing import Any

from .._backend.raw import Raw
from .dtype import dtype
from .modes import modes
from .storage import DeviceMemory
from .strides import Strides
from .tensor_base import auto_of, window


def device_tensor(base: Raw, kind: dtype, shape: tuple[int, ...], strides: Strides | None) -> Any:
    """A base tensor that shows the elements of ``base``, in the order in which they lie, with a shape and strides."""
    made = window(DeviceMemory(base), kind, shape, strides, 0)
    if modes.inference:
        auto_of(made).inference = True
    return made
