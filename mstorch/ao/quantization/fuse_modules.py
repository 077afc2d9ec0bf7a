"""torch.ao.quantization.fuse_modules: fusion of consecutive layers in a model."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ... import nn
from ..._src.hook import missing as _missing
from ...nn.modules.module import Module
from ...nn.utils.parametrize import type_before_parametrizations
from .fuser_method_mappings import get_fuser_method
from .utils import getattr_from_fqn

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: dict[Any, Any] | None = None) -> list[Any]:
    """Return the fused layer, followed by an ``Identity`` in place of each other layer; hooks of the first and last layer are moved."""
    types = tuple(type_before_parametrizations(layer) for layer in mod_list)
    fused = get_fuser_method(types, additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [nn.Identity() for _ in mod_list[1:]]
    for layer in rest:
        layer.training = mod_list[0].training
    return [fused, *rest]


def _put(model: Module, name: str, module: Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(getattr_from_fqn(model, parent) if parent else model, last, module)


def _fuse_modules(
    model: Module, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser_func: Callable[..., Any], fuse_custom_config_dict: Any
) -> Any:
    model = model if inplace else copy.deepcopy(model)
    more = (fuse_custom_config_dict or {}).get("additional_fuser_method_mapping", {})
    groups = [modules_to_fuse] if all(isinstance(name, str) for name in modules_to_fuse) else modules_to_fuse
    for names in groups:
        for name, module in zip(names, fuser_func([getattr_from_fqn(model, name) for name in names], is_qat, more)):
            _put(model, name, module)
    return model


def fuse_modules(
    model: Module, modules_to_fuse: Sequence[Any], inplace: bool = False, fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Module:  # fmt: skip
    """Return a copy of a model (with ``inplace``, the model) with the named layers fused and batch normalization folded into the weights.

    ``modules_to_fuse`` is a list of layer names, or a list of such lists."""
    return _fuse_modules(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Module, modules_to_fuse: Sequence[Any], inplace: bool = False, fuser_func: Callable[..., Any] = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Module:  # fmt: skip
    """Fuse modules for training, like ``fuse_modules``; batch normalization remains in the fused layer."""
    return _fuse_modules(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)


__getattr__ = _missing(__name__)
