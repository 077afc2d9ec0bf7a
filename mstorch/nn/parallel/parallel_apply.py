"""Applying several modules, each to its own inputs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.core.device import device
from ..._tensor import Tensor
from ..modules.module import Module


def get_a_var(obj: Tensor | list[Any] | tuple[Any, ...] | dict[Any, Any]) -> Tensor | None:
    """Return the first tensor in nested lists, tuples and dictionaries; None if there is none."""
    if isinstance(obj, Tensor):
        return obj
    parts = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    found = (get_a_var(part) for part in parts)
    return next((tensor for tensor in found if tensor is not None), None)


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[int | device | None] | None = None
) -> list[Any]:
    """Return the result of each module on its inputs, computed sequentially."""
    keywords = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    assert len(modules) == len(inputs) == len(keywords)
    return [
        module(*(given if isinstance(given, (tuple, list)) else (given,)), **named)
        for module, given, named in zip(modules, inputs, keywords)
    ]


__all__ = ["get_a_var", "parallel_apply"]
