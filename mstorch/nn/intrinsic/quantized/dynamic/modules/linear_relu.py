"""torch.nn.intrinsic.quantized.dynamic.modules.linear_relu: the deprecated name of
torch.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu.
"""
from __future__ import annotations

from typing import Any

from ......ao.nn.intrinsic.quantized.dynamic.modules import linear_relu as _new
from ......ao.nn.intrinsic.quantized.dynamic.modules.linear_relu import LinearReLU

__all__ = ["LinearReLU"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
