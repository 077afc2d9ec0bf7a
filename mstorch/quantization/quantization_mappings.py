"""torch.quantization.quantization_mappings: the old name of torch.ao.quantization.quantization_mappings."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import quantization_mappings as _new
from ..ao.quantization.quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    get_default_compare_output_module_list,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    get_dynamic_quant_module_class,
    get_static_quant_module_class,
    no_observer_set,
)  # fmt: skip

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "get_default_compare_output_module_list", "get_default_dynamic_quant_module_mappings",
    "get_default_qat_module_mappings", "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class", "get_static_quant_module_class", "no_observer_set",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
