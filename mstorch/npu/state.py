"""Availability of an Ascend device."""
from __future__ import annotations

from .._src.backend import binding, runtime


def is_available() -> bool:
    """Return whether MindSpore computes on Ascend, and a device is visible to this process."""
    return runtime.device_type() == "npu" and binding.count() > 0


def require() -> None:
    if runtime.device_type() == "cpu":  # on a GPU torch.cuda has these functions
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")
