"""torch.quantization: the old name of torch.ao.quantization."""
from __future__ import annotations

from typing import Any

from ..ao import quantization as _new
from ..ao.quantization import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, DEFAULT_MODULE_TO_ACT_POST_PROCESS, DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DeQuantStub, FakeQuantize, FakeQuantizeBase, FixedQParamsFakeQuantize,
    FusedMovingAvgObsFakeQuantize, HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver,
    NoopObserver, ObserverBase, PerChannelMinMaxObserver, PlaceholderObserver, QConfig, QConfigAny, QConfigDynamic, QuantStub, QuantType,
    QuantWrapper, RecordingObserver, add_quant_dequant, convert, default_activation_only_qconfig, default_debug_observer,
    default_debug_qconfig, default_dynamic_qconfig, default_dynamic_quant_observer, default_eval_fn, default_fake_quant,
    default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant, default_float_qparams_observer,
    default_fused_act_fake_quant, default_fused_per_channel_wt_fake_quant, default_fused_wt_fake_quant, default_histogram_fake_quant,
    default_histogram_observer, default_observer, default_per_channel_qconfig, default_per_channel_weight_fake_quant,
    default_per_channel_weight_observer, default_placeholder_observer, default_qat_qconfig, default_qat_qconfig_v2, default_qconfig,
    default_weight_fake_quant, default_weight_observer, default_weight_only_qconfig, disable_fake_quant, disable_observer,
    enable_fake_quant, enable_observer, float16_dynamic_qconfig, float16_static_qconfig, float_qparams_weight_only_qconfig, fuse_conv_bn,
    fuse_conv_bn_relu, fuse_linear_bn, fuse_modules, get_default_compare_output_module_list, get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings, get_default_qat_qconfig, get_default_qconfig, get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings, get_dynamic_quant_module_class, get_fuser_method, get_observer_state_dict,
    get_static_quant_module_class, load_observer_state_dict, no_observer_set, per_channel_dynamic_qconfig, prepare, prepare_qat,
    propagate_qconfig_, qconfig_equals, quantize, quantize_dynamic, quantize_qat, swap_module,
)  # fmt: skip

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "QConfig",
    "QConfigAny", "QConfigDynamic", "QuantStub", "QuantType", "QuantWrapper", "RecordingObserver", "add_quant_dequant", "convert",
    "default_activation_only_qconfig", "default_debug_observer", "default_debug_qconfig", "default_dynamic_qconfig",
    "default_dynamic_quant_observer", "default_eval_fn", "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_float_qparams_observer", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_histogram_fake_quant", "default_histogram_observer",
    "default_observer", "default_per_channel_qconfig", "default_per_channel_weight_fake_quant", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_weight_fake_quant",
    "default_weight_observer", "default_weight_only_qconfig", "disable_fake_quant", "disable_observer", "enable_fake_quant",
    "enable_observer", "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig", "fuse_conv_bn",
    "fuse_conv_bn_relu", "fuse_linear_bn", "fuse_modules", "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings", "get_default_qat_qconfig", "get_default_qconfig",
    "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings", "get_dynamic_quant_module_class",
    "get_fuser_method", "get_observer_state_dict", "get_static_quant_module_class", "load_observer_state_dict", "no_observer_set",
    "per_channel_dynamic_qconfig", "prepare", "prepare_qat", "propagate_qconfig_", "qconfig_equals", "quantize", "quantize_dynamic",
    "quantize_qat", "swap_module",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
