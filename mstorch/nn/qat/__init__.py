"""torch.nn.qat: the deprecated name of torch.ao.nn.qat."""
from __future__ import annotations

from typing import Any

from ...ao.nn import qat as _new
from ...ao.nn.qat import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
