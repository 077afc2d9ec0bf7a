"""torch.utils._device: a decorator that runs a function with a default device for new tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.core.device import device
from .._src.core.device import device as Device
from ._contextlib import context_decorator

Function = Callable[..., Any]


def device_decorator(device: device | str | int, func: Function) -> Function:
    """Wrap a function to run with a default device; for a generator, the device is set whenever the generator is resumed."""
    return context_decorator(lambda: device, func)


def set_device(device: device | str | int) -> Callable[[Function], Function]:
    """Return a decorator that runs a function with a default device for new tensors."""
    return lambda func: device_decorator(Device(device), func)
