"""Conversion of optimizer states between flat parameters and full tensors with the parameters' own names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from ...optim.optimizer import Optimizer
from .._world import get_rank
from ._flat import FlatOwner


def _owners(model: Any) -> list[tuple[Any, Any]]:
    """Return the flat parameters with the name prefix of each."""
    return [(owner, part) for part in model.modules() if hasattr(part, "_shards") for owner in part._shards.owners]


def _tensors_like(owner: FlatOwner, states: dict[Any, Any]) -> Any:
    """Return this rank's flat shard for each state key; values that are not sharded are returned unchanged."""
    if not owner.visible:
        return states.get(owner.sharded)
    found: dict[str, Any] = {}
    for entry in owner.entries:
        for key, value in states.get(entry.orig, {}).items():
            if isinstance(value, torch.Tensor) and value.dim():
                flat = found.setdefault(key, torch.zeros(owner.each, dtype=value.dtype, device=value.device))
                owner._own_slice(flat, entry).copy_(value)
            else:
                found.setdefault(key, value)
    return found or None


def named_state(model: Any, optimizer: Optimizer, rank0_only: bool, prefix_of: Callable[..., Any], on_cpu: bool = True) -> dict[str, Any]:
    """Return an optimizer's state with full tensors by parameter name; {} on ranks other than 0 with ``rank0_only``."""

    def placed(value: torch.Tensor) -> torch.Tensor:
        return value.cpu() if on_cpu and isinstance(value, torch.Tensor) else value

    state: dict[str, Any] = {}
    names: dict[int, list[str]] = {}
    for owner, part in _owners(model):
        prefix = prefix_of(part)
        for entry in owner.entries:
            names.setdefault(id(entry.orig if owner.visible else owner.sharded), []).append(prefix + entry.name)
        having = _tensors_like(owner, optimizer.state)
        if having is None:
            continue
        wholes = {entry.name: {} for entry in owner.entries}  # type: dict[str, dict[str, Any]]
        for key, value in having.items():
            if isinstance(value, torch.Tensor) and value.dim():
                for name, tensor in owner.gather(value.detach(), part.compute_device).items():
                    wholes[name][key] = placed(tensor)
            else:
                for name in wholes:
                    wholes[name][key] = placed(value.clone()) if isinstance(value, torch.Tensor) else value
        for name, found in wholes.items():
            state[prefix + name] = found
    for name, parameter in model.named_parameters():  # parameters that FSDP ignores
        if id(parameter) not in names:
            names[id(parameter)] = [name]
            if parameter in optimizer.state:
                state[name] = {key: placed(value) for key, value in optimizer.state[parameter].items()}
    groups = []
    for group in optimizer.param_groups:
        rest = {key: value for key, value in group.items() if key != "params"}
        groups.append({**rest, "params": [name for one in group["params"] for name in names[id(one)]]})
    return {} if rank0_only and get_rank() else {"state": state, "param_groups": groups}


def loadable_state(model: Any, optimizer: Optimizer, given: dict[str, Any], prefix_of: Callable[..., Any]) -> dict[str, Any]:
    """Convert a state dict with full tensors by name to the form of ``optimizer.load_state_dict``."""
    numbers = {id(one): number for number, one in enumerate(one for group in optimizer.param_groups for one in group["params"])}
    state: dict[int, Any] = {}
    for owner, part in _owners(model):
        prefix = prefix_of(part)
        mine = {entry.name: given["state"][prefix + entry.name] for entry in owner.entries if prefix + entry.name in given["state"]}
        if not mine:
            continue
        parts: dict[str, Any] = {}
        for key, value in next(iter(mine.values())).items():
            whole = isinstance(value, torch.Tensor) and value.dim()
            parts[key] = owner.flatten({name: found[key] for name, found in mine.items()}) if whole else value
        if not owner.visible:
            state[numbers[id(owner.sharded)]] = parts
            continue
        for entry in owner.entries:
            if entry.name in mine:
                state[numbers[id(entry.orig)]] = {
                    key: owner._own_slice(value, entry).clone() if isinstance(value, torch.Tensor) and value.dim() else value
                    for key, value in parts.items()
                }
    groups, count = [], 0
    for group, saved in zip(optimizer.param_groups, given["param_groups"]):
        rest = {key: value for key, value in saved.items() if key != "params"}
        groups.append({**rest, "params": list(range(count, count + len(group["params"])))})
        count += len(group["params"])
    return {"state": state, "param_groups": groups}
