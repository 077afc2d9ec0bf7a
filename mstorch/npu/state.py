"""Whether there is an Ascend device."""
from __future__ import annotations

from .._backend import runtime


def is_available() -> bool:
    """Whether MindSpore computes on an Ascend device."""
    return runtime.device_type() == "npu"


def require() -> None:
    if not is_available():
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")
