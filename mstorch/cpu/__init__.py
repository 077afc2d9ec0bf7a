"""torch.cpu: the host as if it were an accelerator, for scripts that do not ask which device they have."""
from __future__ import annotations

from typing import Any

from . import amp as amp


def is_available() -> bool:
    """Whether there is a CPU: there is."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is in use: it is."""
    return True


def synchronize(device: Any = None) -> None:
    """Wait for the CPU, which has finished each operation when it returns."""


def current_device() -> str:
    """The device in use: ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the device in use, of which there is one."""


def device_count() -> int:
    """The number of devices: 1."""
    return 1


__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
