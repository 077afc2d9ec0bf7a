"""torch.nn.intrinsic.quantized.modules: the deprecated name of torch.ao.nn.intrinsic.quantized.modules."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.quantized import modules as _new
from .....ao.nn.intrinsic.quantized.modules import BNReLU2d, BNReLU3d, ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
