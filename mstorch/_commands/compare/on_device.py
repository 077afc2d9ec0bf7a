"""Device run that draws the CPU's random numbers, so that its draws can be compared with the CPU run."""
from __future__ import annotations

from ..._src.core import generator
from ..._src.core.settings import set_default_device


def begin(device: str, default: bool) -> None:
    """Make the device draw the same random numbers as the CPU; with ``default`` also make it the default device."""
    generator.device_generator()._engine = generator.default_generator._engine
    if default:
        set_default_device(device)
