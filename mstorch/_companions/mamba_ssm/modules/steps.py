"""Initial step sizes of Mamba's layers, and the states that they keep while they generate."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

Tensor = torch.Tensor


def initial_steps(count: int, low: float, high: float, floor: float, device: Any, dtype: Any) -> Tensor:
    """Return values whose softplus is a step between two limits, evenly spread by its logarithm."""
    drawn = torch.rand(count, device=device, dtype=dtype)
    steps = torch.exp(drawn * (math.log(high) - math.log(low)) + math.log(low)).clamp(min=floor)
    return steps + torch.log(-torch.expm1(-steps))


def parameter(values: Tensor, decays: bool = False) -> torch.nn.Parameter:
    """Return a parameter with the marks that Mamba's training code reads: it is neither initialized again nor, unless said, decayed."""
    result: Any = torch.nn.Parameter(values)
    if not decays:
        result._no_weight_decay = True
    return result


def kept_states(module: Any, params: Any, batch: int, initialize: bool = False) -> tuple[Tensor, Tensor]:
    """Return a layer's states of a generation, which are zeros at first and again with ``initialize``."""
    if module.layer_idx is None:
        raise AssertionError("a layer needs a layer_idx to keep states")
    states = params.key_value_memory_dict.get(module.layer_idx)
    if states is None:
        states = params.key_value_memory_dict[module.layer_idx] = module.allocate_inference_cache(batch, params.max_seqlen)
    elif initialize:
        for state in states:
            state.zero_()
    first, second = states
    return first, second


def last_inputs(values: Tensor, width: int) -> Tensor:
    """Return the last ``width`` places of (batch, channels, places), with zeros before them if there are fewer."""
    return torch.nn.functional.pad(values, (width - values.shape[-1], 0))


__all__ = ["initial_steps", "kept_states", "last_inputs", "parameter"]
