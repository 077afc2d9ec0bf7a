"""Optimizer steps with replaced parameters and state."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

from .._src.leaving import END, Undo, each, undoing
from .._tensor import Tensor
from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


def _checked(optimizer: Optimizer, parameters: dict[str, Tensor], state_dict: Any) -> list[list[Tensor]]:
    """Return the given parameters by group. Raise RuntimeError unless they and the state fit the optimizer."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(state_dict, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = state_dict.get("state"), state_dict.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be a dict.")
    if not isinstance(groups, list) or len(groups) != len(optimizer.param_groups):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['param_groups'] to match optimizer.param_groups.")
    left = list(parameters.values())
    chosen: list[list[Tensor]] = []
    for own, given in zip(optimizer.param_groups, groups):
        count = len(own["params"])
        if len(given["params"]) != count:
            raise RuntimeError(f"{_NAME} requires each group to hold as many parameters as the optimizer's.")
        if len(left) < count:
            raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
        chosen.append(left[:count])
        left = left[count:]
    known = {key for group in groups for key in group["params"]}
    extra = [key for key in state if key not in known]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return chosen


@undoing
def swap_in_optimizer_params_and_state(
    undo: Undo, optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> None:
    """Context manager in which the optimizer has the given parameters (in its own order) and ``state_dict``.

    In-place changes remain in the given tensors; the optimizer's own are restored afterwards.
    """
    chosen = _checked(optimizer, swapin_parameters, swapin_optim_state)
    undo[END:] = [each(group.clear, partial(group.update, dict(group))) for group in optimizer.param_groups]
    undo[END:] = (partial(setattr, optimizer, "state", optimizer.state),)
    state: defaultdict[Any, Any] = defaultdict(dict)
    for group, given, params in zip(optimizer.param_groups, swapin_optim_state["param_groups"], chosen):
        group.update({key: value for key, value in given.items() if key != "params"}, params=params)
        for param, key in zip(params, given["params"]):
            state[param] = dict(swapin_optim_state["state"].get(key, {}))
    optimizer.state = state
