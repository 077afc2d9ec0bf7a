"""torch.ao.quantization.quantization_mappings: which class of modules replaces which."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ... import nn
from ..._src.hook import missing as _missing
from ...nn.modules.module import Module
from ...nn.utils.parametrize import type_before_parametrizations
from ..nn import intrinsic as nni
from ..nn import qat as nnqat
from ..nn import quantizable as nnqb
from ..nn import quantized as nnq
from ..nn.intrinsic import qat as nniqat
from ..nn.intrinsic import quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.qat import dynamic as nnqatd
from ..nn.quantized import dynamic as nnqd
from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .stubs import DeQuantStub, QuantStub
from .utils import get_combined_dict

_SAME_NAMES = (
    "BatchNorm2d BatchNorm3d Dropout Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d ELU Embedding EmbeddingBag "
    "GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear ReLU6 PReLU"
).split()
_FUSED = (
    "BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d ConvAdd2d ConvAddReLU2d LinearReLU LinearLeakyReLU LinearTanh"
).split()
_NOT_DYNAMIC = nn.modules.linear.NonDynamicallyQuantizableLinear

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize, DeQuantStub: nnq.DeQuantize, **{getattr(nn, name): getattr(nnq, name) for name in _SAME_NAMES},
    _NOT_DYNAMIC: nnq.Linear, nnq.FloatFunctional: nnq.QFunctional,
    **{getattr(nni, name): getattr(nniq, name) for name in _FUSED},
    nniqat.ConvBn1d: nnq.Conv1d, nniqat.ConvBn2d: nnq.Conv2d, nniqat.ConvBn3d: nnq.Conv3d, nniqat.ConvBnReLU1d: nniq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nniq.ConvReLU2d, nniqat.ConvBnReLU3d: nniq.ConvReLU3d, nniqat.ConvReLU2d: nniq.ConvReLU2d,
    nniqat.ConvReLU3d: nniq.ConvReLU3d, nniqat.LinearReLU: nniq.LinearReLU, nniqat.LinearBn1d: nnq.Linear,
    nnqat.Linear: nnq.Linear, nnqat.Conv2d: nnq.Conv2d, nnqat.Conv3d: nnq.Conv3d,
}  # fmt: skip
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv2d: nnqat.Conv2d, nn.Conv3d: nnqat.Conv3d, nn.Linear: nnqat.Linear, _NOT_DYNAMIC: nnqat.Linear,
    **{getattr(nni, name): getattr(nniqat, name) for name in (
        "ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU2d ConvReLU3d LinearReLU LinearBn1d"
    ).split()},
}  # fmt: skip
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.GRUCell: nnqd.GRUCell, nn.Linear: nnqd.Linear, nnqatd.Linear: nnqd.Linear, _NOT_DYNAMIC: nnqd.Linear, nn.LSTM: nnqd.LSTM,
    nn.GRU: nnqd.GRU, nn.LSTMCell: nnqd.LSTMCell, nn.RNNCell: nnqd.RNNCell, nni.LinearReLU: nniqd.LinearReLU,
    nn.EmbeddingBag: nnq.EmbeddingBag, nn.Embedding: nnq.Embedding,
}  # fmt: skip
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    **dict.fromkeys((nn.Hardsigmoid, nn.Sigmoid, nn.Softmax), default_fixed_qparams_range_0to1_fake_quant),
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
_INCLUDE_QCONFIG_PROPAGATE_LIST: set[Any] = {nn.Sequential}


def no_observer_set() -> set[Any]:
    """Return the classes of layers without observer."""
    return {nnqb.LSTM, nnqb.MultiheadAttention}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Return the dict from classes to their static quantized replacements."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """Return the dict from classes to their static quantized replacements, including trained embeddings."""
    return {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, nnqat.EmbeddingBag: nnq.EmbeddingBag, nnqat.Embedding: nnq.Embedding}


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Return the dict from classes to their replacements for quantization-aware training."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """Return the dict from classes to their replacements for quantization-aware training, including embeddings."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, nn.EmbeddingBag: nnqat.EmbeddingBag, nn.Embedding: nnqat.Embedding}


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Return the dict from classes to their dynamically quantized replacements."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_default_qconfig_propagation_list() -> set[Any]:
    """Return the classes of layers that receive a ``qconfig``."""
    return {
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS, *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
        *_INCLUDE_QCONFIG_PROPAGATE_LIST,
    }  # fmt: skip


def get_default_compare_output_module_list() -> set[Any]:
    """Return the classes of layers whose outputs are compared."""
    maps = (DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)
    return {kind for mapping in maps for pair in mapping.items() for kind in pair} | _INCLUDE_QCONFIG_PROPAGATE_LIST


def _found(mapping: dict[Any, Any], more: dict[Any, Any] | None, kind: Any) -> Any:
    found = get_combined_dict(mapping, more or {}).get(kind)
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding quantized module class")
    return found


def get_static_quant_module_class(
    float_module_class: Callable[..., Any], additional_static_quant_mapping: dict[Any, Any] | None = None, is_reference: bool = False
) -> Any:
    """Return the static quantized class for a float class."""
    if is_reference:
        raise NotImplementedError("mstorch: reference modules (torch.ao.nn.quantized.reference) are not built")
    return _found(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, additional_static_quant_mapping, float_module_class)


def get_dynamic_quant_module_class(
    float_module_class: Callable[..., Any], additional_dynamic_quant_mapping: dict[Any, Any] | None = None
) -> Any:
    """Return the dynamically quantized class for a float class."""
    return _found(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping, float_module_class)


def _get_special_act_post_process(module: Module) -> Callable[..., Any] | None:
    """Return the special observer of a layer whose outputs have known bounds."""
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type_before_parametrizations(module))


def _has_special_act_post_process(module: Module) -> bool:
    return module.training and type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS


__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "get_default_compare_output_module_list", "get_default_dynamic_quant_module_mappings",
    "get_default_qat_module_mappings", "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class", "get_embedding_qat_module_mappings", "get_embedding_static_quant_module_mappings",
    "get_static_quant_module_class", "no_observer_set",
]  # fmt: skip

__getattr__ = _missing(__name__)
