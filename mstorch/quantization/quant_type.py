"""torch.quantization.quant_type: the old name of torch.ao.quantization.quant_type."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import quant_type as _new
from ..ao.quantization.quant_type import QuantType

__all__ = ["QuantType"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
