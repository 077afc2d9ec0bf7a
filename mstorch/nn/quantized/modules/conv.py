"""torch.nn.quantized.modules.conv: the deprecated name of torch.ao.nn.quantized.modules.conv."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import conv as _new
from ....ao.nn.quantized.modules.conv import Conv1d, Conv2d, Conv3d

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
