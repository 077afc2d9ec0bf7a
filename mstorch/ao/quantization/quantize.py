"""torch.ao.quantization.quantize: preparing, training and converting models, layer by layer."""
from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch._src.core.warned import warn

from ... import nn
from ..._src.hook import missing as _missing
from ..._src.unbuilt import UnbuiltClass
from ..._tensor import Tensor
from ...nn.modules.module import Module
from ...nn.utils.parametrize import type_before_parametrizations
from ..nn import quantizable as nnqb
from ..nn import quantized as nnq
from ..nn.intrinsic.modules.fused import _FusedModule
from .observer import _is_activation_post_process
from .qconfig import (
    QConfig,
    _activation_is_memoryless,
    _add_module_to_qconfig_obs_ctr,
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
)
from .quantization_mappings import (
    _get_special_act_post_process,
    _has_special_act_post_process,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    no_observer_set,
)
from .stubs import DeQuantStub, QuantWrapper
from .utils import DEPRECATION_WARNING, has_no_children_ignoring_parametrizations

is_activation_post_process = _is_activation_post_process
_OBSERVED, _CONVERTED = "float_to_observed_custom_module_class", "observed_to_quantized_custom_module_class"
_DEFAULT_CUSTOM_CONFIG_DICT = {
    _OBSERVED: {nn.LSTM: nnqb.LSTM, nn.MultiheadAttention: nnqb.MultiheadAttention},
    _CONVERTED: {nnqb.LSTM: nnq.LSTM, nnqb.MultiheadAttention: nnq.MultiheadAttention},
}


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function to warn that torch will remove it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        warn(DEPRECATION_WARNING, DeprecationWarning)
        return function(*args, **kwargs)

    return called


def get_default_custom_config_dict() -> dict[str, Any]:
    """Return the layers with inner observers, and their replacements."""
    return _DEFAULT_CUSTOM_CONFIG_DICT


def _built(kind: type, *args: Any) -> type[Any]:
    """Return the class. If it is not implemented, call it with the arguments, which raises NotImplementedError."""
    return kind(*args) if isinstance(kind, UnbuiltClass) else kind


# Configurations


def _propagate_qconfig_helper(
    module: Any, qconfig_dict: dict[Any, Any], qconfig_parent: Any = None, prefix: str = "", config: Any = None
) -> None:
    own = qconfig_dict.get(type_before_parametrizations(module), qconfig_parent)
    own = getattr(module, "qconfig", qconfig_dict.get(prefix, own))
    _assert_valid_qconfig(own, module)
    module.qconfig = own = _add_module_to_qconfig_obs_ctr(own, module)
    config = config or {}
    for name, child in module.named_children():
        left_out = name in config.get("non_traceable_module_name", []) or type(child) in config.get("non_traceable_module_class", [])
        if not left_out:
            _propagate_qconfig_helper(child, qconfig_dict, own, f"{prefix}.{name}" if prefix else name)


def propagate_qconfig_(module: Module, qconfig_dict: dict[Any, QConfig] | None = None, prepare_custom_config_dict: Any = None) -> None:
    """Set each layer's ``qconfig``: its own, else the one for its name or type in the dict, else its parent's."""
    _propagate_qconfig_helper(module, qconfig_dict or {}, config=prepare_custom_config_dict)


def _remove_qconfig(module: Any) -> None:
    """Remove qconfigs and observers from a module and its descendants."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    _remove_activation_post_process(module)


# Observers


def _observer_forward_hook(self: Any, input: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """Pass a layer's output to its observer."""
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: tuple[Tensor, ...]) -> Tensor:
    """Pass a layer's input to its observer."""
    return self.activation_post_process(input[0])


def _register_activation_post_process_hook(module: Any, pre_hook: bool = False) -> None:
    if not hasattr(module, "activation_post_process"):
        raise AssertionError("Expect activation_post_process attribute already attached to the module")
    if pre_hook:
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _remove_activation_post_process(module: Any) -> None:
    if hasattr(module, "activation_post_process") and _is_activation_post_process(module.activation_post_process):
        delattr(module, "activation_post_process")
    for hooks, ours in ((module._forward_pre_hooks, _observer_forward_pre_hook), (module._forward_hooks, _observer_forward_hook)):
        for number in [number for number, hook in hooks.items() if hook is ours]:
            hooks.pop(number)


def _get_unique_devices_(module: Module) -> set[Any]:
    return {item.device for item in (*module.parameters(), *module.buffers()) if item.device.type != "meta"}


def _needs_observation(module: Any) -> bool:
    return hasattr(module, "qconfig") and module.qconfig is not None


class _Observing:
    """Adds observers to the layers of a model."""

    def __init__(self, kinds: set[Any], whole: set[Any] | None, device: int | str | torch.device | None, custom: dict[Any, Any]) -> None:
        self.kinds = kinds  # classes of layers that are observed if they have no children
        self.whole = whole or ()  # classes of layers that are observed in any case
        self.device = device
        self.custom = custom or {}

    def _made(self, qconfig: Any, special: Any = None) -> Module:
        found = qconfig.activation() if special is None else special()
        if self.device is not None:
            found.to(self.device)
        return found

    def observe(self, module: Any, special: Any = None) -> None:
        """Add an observer of a layer's output or, where the output is not observed, of the layer's input."""
        if _needs_observation(module) and not isinstance(module, DeQuantStub):
            module.add_module("activation_post_process", self._made(module.qconfig, special))
            _register_activation_post_process_hook(module, pre_hook=_activation_is_memoryless(module.qconfig))

    def inside(self, module: Any) -> None:
        """Add observers to a module's children, and to the module itself."""
        for name, child in module.named_children():
            self._child(module, name, child)
        if isinstance(module, nn.Sequential) or type_before_parametrizations(module) not in self.kinds:
            return
        if has_no_children_ignoring_parametrizations(module):
            self.observe(module)
        if hasattr(module, "weight_fake_quant"):
            self.observe(module)

    def _child(self, module: Module, name: str, child: Any) -> None:
        kind = type_before_parametrizations(child)
        if kind is nn.Dropout:
            return
        if issubclass(kind, (nnq.FloatFunctional, nnq.QFunctional)):
            if _needs_observation(child):
                if not hasattr(child, "activation_post_process"):
                    raise AssertionError(f"functional class {kind} has no pre-defined `activation_post_process`")
                child.activation_post_process = self._made(child.qconfig)
        elif isinstance(child, _FusedModule) or kind in self.whole:
            self.observe(child)
        elif _has_special_act_post_process(child):
            self.observe(child, _get_special_act_post_process(child))
        elif _needs_observation(child) and kind in self.custom:
            observed = _built(self.custom[kind], child)
            made = observed.from_float(child)
            setattr(module, name, made)
            if not issubclass(observed, tuple(no_observer_set())):
                self.observe(made)
        else:
            self.inside(child)


def _add_observer_(
    module: Any, qconfig_propagation_list: Any = None, non_leaf_module_list: Any = None, device: int | str | torch.device | None = None,
    custom_module_class_mapping: Any = None,
) -> None:  # fmt: skip
    """Add observers to the layers that have a ``qconfig``."""
    kinds = get_default_qconfig_propagation_list() if qconfig_propagation_list is None else qconfig_propagation_list
    if device is None:
        devices = _get_unique_devices_(module)
        if len(devices) > 1:
            raise AssertionError(f"_add_observer_ only works with cpu or single-device CUDA modules, but got devices {devices}")
        device = next(iter(devices), None)
    _Observing(kinds, non_leaf_module_list, device, custom_module_class_mapping).inside(module)


def add_quant_dequant(module: Any) -> Any:
    """Wrap each layer that has a ``qconfig`` in a QuantWrapper; return the module, or its wrapper."""
    if has_no_children_ignoring_parametrizations(module) and hasattr(module, "qconfig") and module.qconfig:
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


@_deprecated
def prepare(
    model: Module, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: set[type[Any]] | None = None,
    prepare_custom_config_dict: Any = None,
) -> Module:  # fmt: skip
    """Return a copy of a model (with ``inplace``, the model) with observers on layers that have a ``qconfig``."""
    config = get_default_custom_config_dict() if prepare_custom_config_dict is None else prepare_custom_config_dict
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model, qconfig_dict=None)
    if not any(hasattr(module, "qconfig") and module.qconfig for module in model.modules()):
        warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by assigning "
            "the `.qconfig` attribute directly on submodules"
        )
    _add_observer_(model, allow_list, observer_non_leaf_module_list, custom_module_class_mapping=config.get(_OBSERVED, {}))
    return model


@_deprecated
def prepare_qat(model: Module, mapping: Any = None, inplace: bool = False) -> Module:
    """Return a copy of a model (with ``inplace``, the model) in training mode whose layers fake-quantize weights and outputs."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model, qconfig_dict=None)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


# Conversion


@_deprecated
def convert(
    module: Module, mapping: dict[Any, Any] | None = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
    convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False,
) -> Module:  # fmt: skip
    """Return a copy of an observed model (with ``inplace``, the model) with layers replaced by their quantized classes in ``mapping``."""
    module = module if inplace else copy.deepcopy(module)
    _convert(module, mapping, True, is_reference, convert_custom_config_dict, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(
    module: Module, mapping: dict[Any, Any] | None = None, inplace: bool = False, is_reference: bool = False,
    convert_custom_config_dict: dict[Any, Any] | None = None, use_precomputed_fake_quant: bool = False,
) -> Module:  # fmt: skip
    if mapping is None:
        if is_reference:
            raise NotImplementedError("mstorch: reference modules (torch.ao.nn.quantized.reference) are not built")
        mapping = get_default_static_quant_module_mappings()
    config = get_default_custom_config_dict() if convert_custom_config_dict is None else convert_custom_config_dict
    custom = config.get(_CONVERTED, {})
    module = module if inplace else copy.deepcopy(module)
    made = {}
    for name, child in module.named_children():
        if not isinstance(child, _FusedModule) and type_before_parametrizations(child) not in custom:  # fused layers are swapped as a whole
            _convert(child, mapping, True, is_reference, config, use_precomputed_fake_quant)
        made[name] = swap_module(child, mapping, custom, use_precomputed_fake_quant)
    module._modules.update(made)
    return module


def swap_module(
    mod: Module, mapping: dict[Any, Any], custom_module_class_mapping: dict[Any, Any],
    use_precomputed_fake_quant: bool = False
) -> Module:
    """Return the quantized replacement of a module; the module itself if it has no ``qconfig`` or is not in the mapping."""
    kind = type_before_parametrizations(mod)
    if not _needs_observation(mod) or (kind not in custom_module_class_mapping and kind not in mapping):
        return mod
    if kind in custom_module_class_mapping:
        made = _built(custom_module_class_mapping[kind], mod).from_observed(mod)
    else:
        other = _built(mapping[kind], mod)
        if getattr(other, "_IS_REFERENCE", False):
            raise NotImplementedError("mstorch: reference modules (torch.ao.nn.quantized.reference) are not built")
        known = "use_precomputed_fake_quant" in inspect.signature(other.from_float).parameters
        made = other.from_float(mod, **({"use_precomputed_fake_quant": use_precomputed_fake_quant} if known else {}))
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    devices = _get_unique_devices_(mod)
    if len(devices) > 1:
        raise AssertionError(f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}")
    for device in devices:
        made.to(device)
    return made


# All at once


@_deprecated
def quantize(model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Quantize a model after training: run it with observers by ``run_fn(model, *run_args)``, then convert it."""
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping, inplace=True)
    return model


@_deprecated
def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """Quantize a model with quantization-aware training by ``run_fn(model, *run_args)``."""
    model = model if inplace else copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


_RECURRENT = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
_BY_DTYPE: dict[Any, tuple[Any, tuple[Any, ...]]] = {
    torch.qint8: (default_dynamic_qconfig, _RECURRENT),
    torch.float16: (float16_dynamic_qconfig, _RECURRENT),
    torch.quint8: (float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)),
    torch.quint4x2: (float_qparams_weight_only_qconfig_4bit, (nn.EmbeddingBag,)),
}


@_deprecated
def quantize_dynamic(
    model: Module, qconfig_spec: Any = None, dtype: torch.dtype = torch.qint8, mapping: Any = None, inplace: bool = False
) -> Module:
    """Return a model whose linear and recurrent layers have quantized weights, and quantize inputs dynamically.

    ``qconfig_spec`` is a set of layer types and names, or a dict from these to qconfigs.
    """
    if qconfig_spec is None:
        if dtype not in _BY_DTYPE:
            raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
        qconfig_spec = dict.fromkeys(_BY_DTYPE[dtype][1], _BY_DTYPE[dtype][0])
    elif isinstance(qconfig_spec, set):
        if dtype not in _BY_DTYPE:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig_spec = dict.fromkeys(qconfig_spec, _BY_DTYPE[dtype][0])
    mapping = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model


def _get_observer_dict(mod: Any, target_dict: dict[str, Any], prefix: str = "") -> None:
    """Add a model's observers to a dict, by name."""
    start = f"{prefix}." if prefix else ""
    if hasattr(mod, "activation_post_process"):
        target_dict[start + "activation_post_process"] = mod.activation_post_process
    for name, child in mod.named_children():
        _get_observer_dict(child, target_dict, start + name)


__all__ = [
    "add_quant_dequant", "convert", "get_default_custom_config_dict", "prepare", "prepare_qat", "propagate_qconfig_", "quantize",
    "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip

__getattr__ = _missing(__name__)
