"""torch.nn.quantized.modules.batchnorm: the deprecated name of torch.ao.nn.quantized.modules.batchnorm."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import batchnorm as _new
from ....ao.nn.quantized.modules.batchnorm import BatchNorm2d, BatchNorm3d

__all__ = ["BatchNorm2d", "BatchNorm3d"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
