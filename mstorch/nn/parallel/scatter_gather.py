"""Scatter and gather of batches over devices, of which a MindSpore process has one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.core.device import device
from ..._src.hook import not_yet
from ..._tensor import Tensor
from ...utils._pytree import tree_map_only


def _one(devices: Sequence[Any], what: str) -> int:
    if len(devices) != 1:
        raise NotImplementedError(f"mstorch: {what} over {len(devices)} devices: a MindSpore process has one {not_yet()}")
    return devices[0]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Return a list with the inputs moved to the one device. Raise NotImplementedError for several."""
    device = _one(target_gpus, "scatter")
    return [tree_map_only(Tensor, lambda tensor: tensor.to(device), inputs)]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Return the positional and the keyword arguments for each device."""
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))


def gather(outputs: Any, target_device: int | device, dim: int = 0) -> Any:
    """Return the only element of a list of results, moved to a device. Raise NotImplementedError for several."""
    return tree_map_only(Tensor, lambda tensor: tensor.to(target_device), _one(outputs, "gather"))


__all__ = ["gather", "scatter", "scatter_kwargs"]
