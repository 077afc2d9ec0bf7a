"""Modules in functional transforms."""
from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase, is_tracked
from .._src.core.trees import tree_leaves, tree_map
from .._src.leaving import values_set_to
from .._src.ops.shape.join import stack
from .._tensor import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import _functional_call
from ._batched import BatchedTensor, core
from ._functional import FunctionalMode


def functional_call(
    module: Module, parameter_and_buffer_dicts: dict[Any, Any] | tuple[dict[Any, Any], dict[Any, Any]],
    args: Tensor | tuple[Tensor, ...] | None = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Return ``module(*args, **kwargs)`` with tensors replaced by dotted name: from a dict, or several without common keys.

    With ``tie_weights``, a tensor that the module has under several names is replaced under all; with ``strict``, raise RuntimeError for
    missing or unexpected names.
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        tensors = {}
        for part in parameter_and_buffer_dicts:
            if not isinstance(part, dict):
                raise ValueError(
                    "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
                )
            repeated = tensors.keys() & part.keys()
            if repeated:
                raise ValueError(
                    f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            tensors.update(part)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def _stacked(name: str, tensors: Sequence[Any]) -> Tensor:
    """Stack the tensors of several models; the result is a leaf if all tensors are leaves."""
    if any(tensor.requires_grad != tensors[0].requires_grad for tensor in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    whole = stack([tensor.detach() if tensor.is_leaf else tensor for tensor in tensors])
    return whole.requires_grad_(tensors[0].requires_grad) if all(t.is_leaf for t in tensors) else whole


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stack the parameters and buffers of models of one architecture; return two dicts by name, of parameters and of buffers.

    Raise RuntimeError for no models, or models in different modes or of different classes.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    all_parameters = [dict(model.named_parameters()) for model in models]
    all_buffers = [dict(model.named_buffers()) for model in models]
    parameters = {name: _stacked(name, [own[name] for own in all_parameters]) for name in all_parameters[0]}
    buffers = {name: _stacked(name, [own[name] for own in all_buffers]) for name in all_buffers[0]}
    return parameters, buffers


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics of every batch norm in ``root``, in place; return ``root``."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function with the same results, whose calls do not write as a mode outside it sees them, as ``make_fx`` does; without one
    the function itself runs.

    Raise RuntimeError if ``remove`` is neither "mutations" nor "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with values_set_to(state, functional=True):
            if not state.dispatchers or not _all_plain((args, kwargs)):
                return func(*args, **kwargs)
            mode = FunctionalMode(remove == "mutations_and_views")
            copies = tree_map(mode.taken, (args, kwargs))
            with mode:
                result = func(*copies[0], **copies[1])
            values = tree_map(mode.value_of, result)
            tree_map(mode.give_back, (args, kwargs), copies)
            return values

    return wrapped


def _all_plain(arguments: Any) -> bool:
    """Return whether no tensor belongs to a transform or is tracked by autograd."""
    tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, TensorBase)]
    return all(type(tensor) is Tensor and not is_tracked(tensor) for tensor in tensors)


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """Return the tensor inside a BatchedTensor, for debugging; with ``recurse``, inside the BatchedTensors of all vmaps, else of the
    innermost only.

    Raise ValueError if ``tensor`` is not a tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise ValueError(f"debug_unwrap(): expected a Tensor, got {type(tensor)}")
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return core(tensor) if recurse else tensor.value


__all__ = [
    "copy", "debug_unwrap", "functional_call", "functionalize", "replace_all_batch_norm_modules_", "stack_module_state",
]  # fmt: skip
