"""torch.nn.intrinsic.quantized.modules.conv_relu: the deprecated name of torch.ao.nn.intrinsic.quantized.modules.conv_relu."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.quantized.modules import conv_relu as _new
from .....ao.nn.intrinsic.quantized.modules.conv_relu import ConvReLU1d, ConvReLU2d, ConvReLU3d

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
