"""Averaging of the ranks' parameters."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mstorch as torch

from ..._group import ProcessGroup
from ..._world import chosen, outside


def average_parameters(params: Iterator[Any], process_group: ProcessGroup) -> None:
    """Replace parameters by their mean over the ranks."""
    group = chosen(process_group)
    given = list(params)
    if outside(group):
        return
    flat = torch.cat([one.data.reshape(-1) for one in given]) / group.size()
    group.allreduce([flat]).wait()
    for one, part in zip(given, flat.split([one.numel() for one in given])):
        one.data = part.view_as(one).type_as(one)


def get_params_to_average(params: Iterable[Any] | Iterable[dict[str, Any]]) -> list[Any]:
    """Return those parameters, given directly or as param groups, that have a gradient. Raise NotImplementedError for other types."""
    found: list[Any] = []
    for one in params:
        if not isinstance(one, (torch.nn.Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(one)} is not supported")
        found += one["params"] if isinstance(one, dict) else [one]
    return [one for one in found if one.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any] | Iterable[dict[str, Any]], process_group: ProcessGroup) -> None:
    """Replace the parameters that have a gradient, given directly or as param groups, by their mean over the ranks."""
    average_parameters(iter(get_params_to_average(params)), process_group)


__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]
