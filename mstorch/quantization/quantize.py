"""torch.quantization.quantize: the old name of torch.ao.quantization.quantize."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import quantize as _new
from ..ao.quantization.quantize import (
    _add_observer_, _convert, _get_observer_dict, _get_unique_devices_, _is_activation_post_process, _observer_forward_hook,
    _propagate_qconfig_helper, _register_activation_post_process_hook, _remove_activation_post_process, _remove_qconfig, add_quant_dequant,
    convert, prepare, prepare_qat, propagate_qconfig_, quantize, quantize_dynamic, quantize_qat, swap_module,
)  # fmt: skip

__all__ = [
    "add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat",
    "swap_module",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
