"""Batches divided among devices and put together again, for the one device that a process of MindSpore has."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._hook import not_yet
from ..._tensor import Tensor
from ...utils._pytree import tree_map_only
from ..modules.module import Module


def _one(devices: Sequence[Any], what: str) -> Any:
    if len(devices) != 1:
        raise NotImplementedError(f"mstorch: {what} over {len(devices)} devices: a MindSpore process has one {not_yet()}")
    return devices[0]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """A list with the inputs on the one device given. NotImplementedError for several."""
    device = _one(target_gpus, "scatter")
    return [tree_map_only(Tensor, lambda tensor: tensor.to(device), inputs)]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The positional and the keyword arguments for each device."""
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The only one of a list of results, on a device. NotImplementedError for several."""
    return tree_map_only(Tensor, lambda tensor: tensor.to(target_device), _one(outputs, "gather"))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """A list with the network itself. NotImplementedError for several devices."""
    _one(devices, "replicate")
    return [network]


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None, devices: Any = None
) -> list[Any]:
    """The result of each module for its inputs, one after the other."""
    keywords = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    assert len(modules) == len(inputs) == len(keywords)
    return [
        module(*(given if isinstance(given, (tuple, list)) else (given,)), **named)
        for module, given, named in zip(modules, inputs, keywords)
    ]


__all__ = ["gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]
