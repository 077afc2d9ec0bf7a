"""Scales of losses, and what amp keeps of an optimizer: pairs of a model's parameters and those of the optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mstorch as torch

Tensor = torch.Tensor


class LossScaler:
    """The scale of a loss: constant, or halved at an overflow and doubled after 2000 steps without one."""

    def __init__(self, loss_scale: float | str, least: float | None, most: float) -> None:
        self.dynamic = loss_scale == "dynamic"
        self.scale = min(most, 2.0**16) if self.dynamic else float(loss_scale)
        self.least, self.most = least, most
        self.unskipped = 0

    def loss_scale(self) -> float:
        """Return the scale."""
        return self.scale

    def update(self, overflow: bool) -> None:
        """Follow a backward pass."""
        if not self.dynamic:
            return
        if overflow:
            self.scale = self.scale / 2 if self.least is None else max(self.least, self.scale / 2)
            self.unskipped = 0
        else:
            self.unskipped += 1
        if self.unskipped == 2000:
            self.scale, self.unskipped = min(self.most, self.scale * 2), 0


class Pairs:
    """A model's parameters and the optimizer's: the same, or for half precision copies in float32 (``master_weights``)."""

    def __init__(self, optimizer: torch.optim.Optimizer, master_weights: bool) -> None:
        self.of_model: list[Tensor] = []
        self.of_optimizer: list[Tensor] = []
        self.skip = False  # the next step, after an overflow
        self.delayed = False  # gradients are still scaled (delay_unscale)
        for group in optimizer.param_groups:
            for index, parameter in enumerate(group["params"]):
                other = parameter
                if master_weights and parameter.dtype in (torch.float16, torch.bfloat16) and parameter.requires_grad:
                    other = torch.nn.Parameter(parameter.detach().float())
                    group["params"][index] = other
                    if parameter in optimizer.state:
                        optimizer.state[other] = optimizer.state.pop(parameter)
                self.of_model.append(parameter)
                self.of_optimizer.append(other)

    def set_aside(self) -> list[Tensor | None]:
        """Remove and return the optimizer's gradients, which later ones are added to."""
        before: list[Tensor | None] = []
        for parameter, other in zip(self.of_model, self.of_optimizer):
            before.append(None if parameter is other and self.delayed else other.grad)
            if before[-1] is not None:
                other.grad = None
        return before

    def unscale(self, scale: float, before: Iterable[Tensor | None]) -> bool:
        """Give the optimizer the model's gradients divided by the scale, with those set aside. Return whether one overflowed."""
        ends = []
        with torch.no_grad():
            for parameter, other, earlier in zip(self.of_model, self.of_optimizer, before):
                slope = parameter.grad
                if slope is None:
                    other.grad = earlier
                    continue
                ends.append(torch.isfinite(slope).all())
                slope = slope.to(other.dtype) / scale
                parameter.grad = None
                other.grad = slope if earlier is None else earlier + slope
        self.delayed = False
        return bool(ends) and not bool(torch.stack([end.to(ends[0].device) for end in ends]).all())

    def write_back(self) -> None:
        """Copy the optimizer's parameters to the model."""
        with torch.no_grad():
            for parameter, other in zip(self.of_model, self.of_optimizer):
                if parameter is not other:
                    parameter.copy_(other)


class State:
    """Settings that ``amp.initialize`` made."""

    def __init__(self) -> None:
        self.enabled = False
        self.scalers: list[LossScaler] = []


state = State()


def master_params(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """Yield the optimizer's parameters, in float32 where the model's are of half precision and have copies."""
    for group in optimizer.param_groups:
        yield from group["params"]


def state_dict(destination: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the scales of losses."""
    result = {} if destination is None else destination
    for index, scaler in enumerate(state.scalers):
        result[f"loss_scaler{index}"] = {"loss_scale": scaler.scale, "unskipped": scaler.unskipped}
    return result


def load_state_dict(state_dict: dict[str, Any]) -> None:
    """Set the scales of losses, after ``amp.initialize``."""
    unknown = [key for key in state_dict if not key.startswith("loss_scaler")]
    if unknown:
        raise RuntimeError(f"Error(s) in loading state_dict. Unexpected key(s) in state_dict: {', '.join(unknown)}. ")
    if len(state_dict) != len(state.scalers):
        raise RuntimeError(
            f"Loading {len(state_dict)} loss scales, but amp.initialize made {len(state.scalers)} (num_losses)"
        )
    for index, scaler in enumerate(state.scalers):
        scaler.scale, scaler.unskipped = (
            state_dict[f"loss_scaler{index}"]["loss_scale"],
            state_dict[f"loss_scaler{index}"]["unskipped"],
        )
