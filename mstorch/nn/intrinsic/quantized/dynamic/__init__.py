"""torch.nn.intrinsic.quantized.dynamic: the deprecated name of torch.ao.nn.intrinsic.quantized.dynamic."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.quantized import dynamic as _new
from .....ao.nn.intrinsic.quantized.dynamic import LinearReLU

__all__ = ["LinearReLU"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
