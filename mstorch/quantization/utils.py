"""torch.quantization.utils: the old name of torch.ao.quantization.utils."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import utils as _new
from ..ao.quantization.utils import (
    activation_dtype,
    activation_is_int8_quantized,
    activation_is_statically_quantized,
    calculate_qmin_qmax,
    check_min_max_valid,
    get_combined_dict,
    get_qconfig_dtypes,
    get_qparam_dict,
    get_quant_type,
    get_swapped_custom_module_class,
    getattr_from_fqn,
    is_per_channel,
    is_per_tensor,
    weight_dtype,
    weight_is_quantized,
    weight_is_statically_quantized,
)  # fmt: skip

__all__ = [
    "activation_dtype", "activation_is_int8_quantized", "activation_is_statically_quantized", "calculate_qmin_qmax", "check_min_max_valid",
    "get_combined_dict", "get_qconfig_dtypes", "get_qparam_dict", "get_quant_type", "get_swapped_custom_module_class", "getattr_from_fqn",
    "is_per_channel", "is_per_tensor", "weight_dtype", "weight_is_quantized", "weight_is_statically_quantized",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
