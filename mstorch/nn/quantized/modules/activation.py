"""torch.nn.quantized.modules.activation: the deprecated name of torch.ao.nn.quantized.modules.activation."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import activation as _new
from ....ao.nn.quantized.modules.activation import ReLU6

__all__ = ["ReLU6"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
