"""torch.ao.quantization.quant_type: QuantType."""
from __future__ import annotations

import enum

__all__ = ["QuantType"]


class QuantType(enum.IntEnum):
    """The type of quantization: dynamic, static, quantization-aware training, or weights only."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


def _get_quant_type_to_str(quant_type: QuantType) -> str:
    return quant_type.name.lower()


def _quant_type_from_str(name: str) -> QuantType:
    for kind in QuantType:
        if kind.name.lower() == name:
            return kind
    raise ValueError(f"Unknown QuantType name '{name}'")
