"""torch.nn.intrinsic.quantized: the deprecated name of torch.ao.nn.intrinsic.quantized."""
from __future__ import annotations

from typing import Any

from ....ao.nn.intrinsic import quantized as _new
from ....ao.nn.intrinsic.quantized import BNReLU2d, BNReLU3d, ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
