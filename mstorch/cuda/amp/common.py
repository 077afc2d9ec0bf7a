"""Whether mixed precision can work at all."""
from __future__ import annotations

from ..._backend import runtime


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU."""
    return runtime.device_type() != "cuda"


__all__ = ["amp_definitely_not_available"]
