"""torch.quantization.quantize: the old name of torch.ao.quantization.quantize."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import quantize as _new
from ..ao.quantization.quantize import (
    add_quant_dequant,
    convert,
    prepare,
    prepare_qat,
    propagate_qconfig_,
    quantize,
    quantize_dynamic,
    quantize_qat,
    swap_module,
)  # fmt: skip

__all__ = [
    "add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat",
    "swap_module",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
