"""torch.utils._device: a function in which new tensors are made on a device."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.device import device
from .._core.device import device as Device
from ._contextlib import context_decorator

Function = Callable[..., Any]


def device_decorator(device: device | str | int, func: Function) -> Function:
    """Return the function with a default device; a generator has it whenever it runs."""
    return context_decorator(lambda: device, func)


def set_device(device: device | str | int) -> Callable[[Function], Function]:
    """Return a decorator: tensors that the function makes are on this device."""
    return lambda func: device_decorator(Device(device), func)
