"""State dicts of models and optimizers, full or sharded, keyed by parameter names."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeAlias

import mstorch as torch

from ...nn.modules._state import _IncompatibleKeys
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from .._objects import broadcast_object_list
from .._world import get_rank, is_initialized
from ..tensor._dtensor import DTensor, distribute_tensor, wrapped


@dataclasses.dataclass
class StateDictOptions:
    """Options of state dicts: full tensors (``full_state_dict``), only on rank 0 (with ``cpu_offload``), broadcast from rank 0, …"""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain_name(name: str) -> str:
    """Return a parameter's name without the "module." of DistributedDataParallel."""
    return name.removeprefix("module.")


def _wrapped(model: Module) -> bool:
    return type(model).__name__ == "DistributedDataParallel"


def _named(model: Any) -> dict[str, Any]:
    for part in model.modules():
        if hasattr(part, "_shards"):
            part._shards.reshard()
    return {_plain_name(name) if _wrapped(model) else name: one for name, one in model.named_parameters()}


def _detached_or_full(value: Any, options: StateDictOptions) -> Any:
    """Return the detached value; with ``full_state_dict``, DTensors are gathered to full tensors."""
    if isinstance(value, dict):
        return {key: _detached_or_full(one, options) for key, one in value.items()}
    if isinstance(value, DTensor) and options.full_state_dict:
        value = value.full_tensor()
    return value.detach() if isinstance(value, torch.Tensor) else value


def _on_rank_0_if_full(found: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """Return the state dict; {} on ranks other than 0 if full states are offloaded to the CPU, as in torch."""
    if options.full_state_dict and options.cpu_offload and is_initialized() and get_rank():
        return {}
    return found


def get_model_state_dict(model: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return a model's state dict, without the prefix "module." that DistributedDataParallel adds to the names; ``options`` select and
    convert entries.
    """
    options = options or StateDictOptions()
    if submodules is not None:
        raise NotImplementedError("mstorch: get_model_state_dict takes no submodules")
    state = (model.module if _wrapped(model) else model).state_dict()
    frozen = {name for name, one in _named(model).items() if not one.requires_grad} if options.ignore_frozen_params else set()
    return _on_rank_0_if_full({name: _detached_or_full(value, options) for name, value in state.items() if name not in frozen}, options)


def _received(state: dict[str, Any], options: StateDictOptions) -> Any:
    if options.broadcast_from_rank0:
        if not options.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
        box = [state if get_rank() == 0 else None]
        broadcast_object_list(box, src=0)
        return box[0]
    return state


def _fitted(value: torch.Tensor | DTensor, like: torch.Tensor | DTensor) -> Any:
    """Return a full tensor as a DTensor sharded like ``like``, if ``like`` is a DTensor; other values are returned unchanged."""
    if isinstance(like, DTensor) and isinstance(value, torch.Tensor) and not isinstance(value, DTensor) and value.dim():
        return distribute_tensor(value.detach(), like.device_mesh, like.placements, src_data_rank=None)
    return value


def set_model_state_dict(model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> _IncompatibleKeys:
    """Load a model's state dict, full or sharded; return the missing and unexpected keys."""
    options = options or StateDictOptions()
    inner = model.module if _wrapped(model) else model
    given = _received(model_state_dict, options)
    likes = inner.state_dict()
    fitted = {name: _fitted(value, likes.get(name)) for name, value in given.items()}
    without_memory = any(isinstance(one, torch.Tensor) and one.is_meta for one in likes.values())
    return inner.load_state_dict(fitted, strict=options.strict, assign=without_memory)


def _init_optim_state(optimizer: Optimizer) -> None:
    """Make an optimizer create its state: one step with zero gradients that changes no parameter."""
    if optimizer.state:
        return
    groups = optimizer.param_groups
    before = [group.get("lr") for group in groups]
    grads = [[one.grad for one in group["params"]] for group in groups]
    for group in groups:
        group["lr"] = torch.zeros_like(group["lr"]) if isinstance(group.get("lr"), torch.Tensor) else 0.0
        for one in group["params"]:
            if one.requires_grad:
                one.grad = torch.zeros_like(one)
    optimizer.step()
    for group, rate, held in zip(groups, before, grads):
        group["lr"] = rate
        for one, grad in zip(group["params"], held):
            one.grad = grad


def _as_spread(value: Any, parameter: torch.Tensor | DTensor) -> torch.Tensor:
    """Return a parameter's optimizer state, wrapped in a DTensor like the parameter's if the parameter is a DTensor."""
    if not isinstance(parameter, DTensor) or not isinstance(value, torch.Tensor) or isinstance(value, DTensor) or not value.dim():
        return value
    return wrapped(value.detach(), *parameter.__dict__["_spec"])


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:  # fmt: skip
    """Return an optimizer's state dict, keyed by parameter names."""
    options = options or StateDictOptions()
    if options.flatten_optimizer_state_dict:
        raise NotImplementedError("mstorch: get_optimizer_state_dict does not flatten")
    names = {id(one): name for name, one in _named(model).items()}
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        _init_optim_state(optimizer)
        for parameter, state in optimizer.state.items():
            spread = {key: _as_spread(value, parameter) for key, value in state.items()}
            found["state"][names[id(parameter)]] = _detached_or_full(spread, options)
        for group in optimizer.param_groups:
            rest = {key: value for key, value in group.items() if key != "params"}
            found["param_groups"].append({**rest, "params": [names[id(one)] for one in group["params"]]})
    return _on_rank_0_if_full(found, options)


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:  # fmt: skip
    """Load an optimizer's state dict that is keyed by parameter names."""
    options = options or StateDictOptions()
    given = _received(optim_state_dict, options)
    names = _named(model)
    groups = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        of = {id(one): name for name, one in names.items()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = of[id(parameter)]
                state = given["state"].get(name, {})
                optimizer.state[parameter] = {
                    key: _fitted(value.clone() if isinstance(value, torch.Tensor) else value, parameter)
                    if isinstance(value, torch.Tensor) and tuple(value.shape) == tuple(parameter.shape) else value
                    for key, value in state.items()
                }  # fmt: skip
                group.update({key: value for key, value in groups[name].items() if key != "params"})


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None,
    options: StateDictOptions | None = None
) -> tuple[Any, Any]:
    """Return the state dicts of a model and of its optimizers."""
    return get_model_state_dict(model, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Load the state dicts of a model and of its optimizers."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


FQNS_T: TypeAlias = set[str]
PrimitiveType: TypeAlias = DTensor | torch.Tensor | int | float | str
ValueType: TypeAlias = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType] | dict[str, "ValueType"]
DictValueType: TypeAlias = dict[str, ValueType]
ListDictValueType: TypeAlias = list[DictValueType]
OptimizerStateType: TypeAlias = dict[str, DictValueType | ListDictValueType]

__all__ = [
    "DictValueType", "FQNS_T", "ListDictValueType", "OptimizerStateType", "PrimitiveType", "ValueType",
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip
