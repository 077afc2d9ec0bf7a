"""torch.nn.intrinsic.quantized.modules.bn_relu: the deprecated name of torch.ao.nn.intrinsic.quantized.modules.bn_relu."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.quantized.modules import bn_relu as _new
from .....ao.nn.intrinsic.quantized.modules.bn_relu import BNReLU2d, BNReLU3d

__all__ = ["BNReLU2d", "BNReLU3d"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
