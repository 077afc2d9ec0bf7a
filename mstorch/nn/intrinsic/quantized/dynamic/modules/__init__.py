"""torch.nn.intrinsic.quantized.dynamic.modules: the deprecated name of torch.ao.nn.intrinsic.quantized.dynamic.modules."""
from __future__ import annotations

from typing import Any

from ......ao.nn.intrinsic.quantized.dynamic import modules as _new
from ......ao.nn.intrinsic.quantized.dynamic.modules import LinearReLU

__all__ = ["LinearReLU"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
