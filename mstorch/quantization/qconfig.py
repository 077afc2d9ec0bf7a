"""torch.quantization.qconfig: the old name of torch.ao.quantization.qconfig."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import qconfig as _new
from ..ao.quantization.qconfig import (
    QConfig,
    QConfigAny,
    QConfigDynamic,
    default_activation_only_qconfig,
    default_debug_qconfig,
    default_dynamic_qconfig,
    default_per_channel_qconfig,
    default_qat_qconfig,
    default_qat_qconfig_v2,
    default_qconfig,
    default_weight_only_qconfig,
    float16_dynamic_qconfig,
    float16_static_qconfig,
    float_qparams_weight_only_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
    per_channel_dynamic_qconfig,
    qconfig_equals,
)  # fmt: skip

__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qconfig",
    "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig", "get_default_qat_qconfig",
    "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
