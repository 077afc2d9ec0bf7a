"""torch.distributed.fsdp.wrap: policies that select the submodules to wrap."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ... import nn
from ..._src.leaving import END, Undo, undoing
from ...nn.modules.module import Module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Return True: wrap every submodule."""
    return True


def _module_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def lambda_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]) -> bool:
    """Return True when recursing, else ``lambda_fn(module)``."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]) -> bool:
    """Policy that wraps modules of the given classes: returns True when recursing, else whether the module is of one of the classes."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _wrap_module_cls_individually(module: Module, module_classes: Sequence[type], recurse: bool, *args: Any, **kwargs: Any) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8), force_leaf_modules: set[type] | None = None,
    exclude_wrap_modules: set[type] | None = None,
) -> bool:  # fmt: skip
    """Return whether a module has at least ``min_num_params`` elements in parameters that are not wrapped yet."""
    leaves = _FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = _EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else excluded))


_EXCLUDE_WRAP_MODULES: set[type] = {nn.ModuleList, nn.ModuleDict}
_FORCE_LEAF_MODULES: set[type] = {nn.MultiheadAttention}
vars(size_based_auto_wrap_policy).update(EXCLUDE_WRAP_MODULES=_EXCLUDE_WRAP_MODULES, FORCE_LEAF_MODULES=_FORCE_LEAF_MODULES)


class _Policy:
    """Base of policies that select the submodules to wrap, with their settings."""

    def _run_policy(self, root_module: Module, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Wraps modules of the given classes."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(self, root_module: Module, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        chosen = tuple(self._module_classes)
        parts = [part for part in root_module.modules() if part not in ignored_modules]
        return {part: copy.copy(root_kwargs) for part in parts if isinstance(part, chosen)}

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wraps the modules for which a function returns True, or a dict of keyword arguments of the wrapper that differ from the root's."""

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module: Module, ignored_modules: set[Any], root_kwargs: dict[str, Any]) -> dict[Any, dict[str, Any]]:
        found = {}
        for part in root_module.modules():
            if part in ignored_modules:
                continue
            said = self._lambda_fn(part)
            if not isinstance(said, (dict, bool)):
                raise ValueError(
                    f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {said}"
                )
            if said:
                found[part] = {**root_kwargs, **(said if isinstance(said, dict) else {})}
        return found


def apply_policy(root: Module, chosen: dict[Any, dict[str, Any]], wrapper: Callable[..., Any]) -> None:
    """Replace each selected submodule by its wrapped form, inner ones first; the root is not wrapped."""
    seen = {root}

    def visit(module: Module) -> None:
        for name, child in list(module.named_children()):
            if child not in seen:
                seen.add(child)
                visit(child)
                if child in chosen:
                    setattr(module, name, wrapper(child, **chosen[child]))

    visit(root)


def _recursive_wrap(
    module: Module, auto_wrap_policy: Callable[..., bool], wrapper_cls: Callable[..., Any], ignored_modules: set[Any],
    ignored_params: set[Any], only_wrap_children: bool = False, **kwargs: Any,
) -> tuple[Any, int]:  # fmt: skip
    """Wrap submodules by a policy, inner ones first; return the module and the number of wrapped elements."""
    for part in module.modules():
        if part not in ignored_modules and isinstance(wrapper_cls, type) and isinstance(part, wrapper_cls):
            raise AssertionError(f"Child module {part} is already wrapped by {wrapper_cls}")
    left = sum(one.numel() for one in module.parameters() if one not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=left):
        return module, 0
    done = 0
    for name, child in list(module.named_children()):
        if child not in ignored_modules:
            wrapped, count = _recursive_wrap(child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs)
            setattr(module, name, wrapped)
            done += count
    if not only_wrap_children and auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=left - done):
        return wrapper_cls(module, **kwargs), left
    return module, done


class _Context:
    """The state of ``enable_wrap``: the wrapper class and its keyword arguments, which ``wrap`` uses."""

    wrapper: Callable[..., Any] | None = None
    settings: dict[str, Any] = {}


@undoing
def enable_wrap(undo: Undo, *, wrapper_cls: Any, **wrapper_kwargs: Any) -> None:
    """Context manager in which ``wrap`` wraps modules. Raise NotImplementedError when nested."""
    if _Context.wrapper is not None:
        raise NotImplementedError("You are already within an autowrap context and we currently do not supported nested autowrap.")
    undo[END:] = (partial(setattr, _Context, "wrapper", None), partial(setattr, _Context, "settings", {}))
    _Context.wrapper, _Context.settings = wrapper_cls, wrapper_kwargs


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Return the module, wrapped if within ``enable_wrap``."""
    if _Context.wrapper is None:
        return module
    return _Context.wrapper(module, **{**_Context.settings, **wrap_overrides})


__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip
