"""A run on a device that draws the CPU's random numbers, so that what it draws can be held against the CPU's run."""
from __future__ import annotations

from .._core import generator
from .._core.settings import set_default_device


def begin(device: str, default: bool) -> None:
    """Let the device draw the CPU's numbers; with ``default`` new tensors are made on it."""
    generator.device_generator()._engine = generator.default_generator._engine
    if default:
        set_default_device(device)
