"""The optimizers' common parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mstorch as torch

Tensor = torch.Tensor


class Lists(NamedTuple):
    """Parameters of a group that have gradients, and both as lists of at least float32, which the step changes."""

    parameters: list[Tensor]
    values: list[Tensor]
    slopes: list[Tensor]


def _wide(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype is torch.float64 else tensor.float()


class Fused(torch.optim.Optimizer):
    """Base of the optimizers: a step over the lists of each group."""

    def __init__(self, params: Any, defaults: dict[str, Any], set_grad_none: bool = True) -> None:
        super().__init__(params, defaults)
        self.set_grad_none = set_grad_none

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Remove the gradients, or set them to zero where the optimizer was made with set_grad_none=False."""
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    def _lists(self, group: dict[str, Any]) -> Lists:
        parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
        if any(parameter.grad.is_sparse for parameter in parameters):
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead"
            )
        # Copies of the gradients, because the step scales them.
        return Lists(
            parameters,
            [_wide(parameter.detach()) for parameter in parameters],
            [_wide(parameter.grad).clone() for parameter in parameters],
        )

    def _states(self, lists: Lists, name: str) -> list[Tensor]:
        """Return a state of each parameter, zero at first."""
        for parameter, value in zip(lists.parameters, lists.values):
            if name not in self.state[parameter]:
                self.state[parameter][name] = torch.zeros_like(value)
        return [self.state[parameter][name] for parameter in lists.parameters]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; states stay in float32 where parameters are of half precision."""
        super().load_state_dict(state_dict)
        saved = [index for group in state_dict["param_groups"] for index in group["params"]]
        for index, parameter in zip(saved, (parameter for group in self.param_groups for parameter in group["params"])):
            for name, value in state_dict["state"].get(index, {}).items():
                if isinstance(value, Tensor) and value.is_floating_point():
                    self.state[parameter][name] = value.to(parameter.device, copy=True)

    def _stepped(self, group: dict[str, Any]) -> int:
        group["step"] = group.get("step", 0) + 1
        return group["step"]

    def _write(self, lists: Lists, updates: list[Tensor], lr: float) -> None:
        """Subtract updates times a rate from the parameters."""
        torch._foreach_add_(lists.values, updates, alpha=-lr)
        for parameter, value in zip(lists.parameters, lists.values):
            if value.dtype is not parameter.dtype:
                parameter.copy_(value)

    def _groups(self) -> Iterator[tuple[dict[str, Any], Lists]]:
        for group in self.param_groups:
            lists = self._lists(group)
            if lists.parameters:
                yield group, lists

    def step(self, closure: Callable[[], Any] | None = None, **former: Any) -> Any:
        """Take a step; return what the closure returns."""
        if any(value is not None for value in former.values()):
            raise RuntimeError(
                f"{type(self).__name__}.step takes no {', '.join(former)}: use torch.amp.GradScaler, or amp.scale_loss, and step()"
            )
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            self._step()
        return loss

    def _step(self) -> None:
        raise NotImplementedError


def moments(
    averages: list[Tensor], squares: list[Tensor], slopes: list[Tensor], betas: tuple[float, float], weight: float
) -> None:
    """Update the moving averages of gradients (their weight is given) and of squared gradients."""
    torch._foreach_mul_(averages, betas[0])
    torch._foreach_add_(averages, slopes, alpha=weight)
    torch._foreach_mul_(squares, betas[1])
    torch._foreach_addcmul_(squares, slopes, slopes, 1 - betas[1])


def direction(
    averages: list[Tensor], squares: list[Tensor], corrections: tuple[float, float], eps: float
) -> list[Tensor]:
    """Return Adam's direction: corrected averages divided by the roots of corrected squares."""
    roots = torch._foreach_sqrt(squares)
    torch._foreach_div_(roots, corrections[1] ** 0.5)
    torch._foreach_add_(roots, eps)
    torch._foreach_mul_(roots, corrections[0])
    return list(torch._foreach_div(averages, roots))


def corrections(group: dict[str, Any], step: int) -> tuple[float, float]:
    """Return what the averages are divided by, because they began with zeros."""
    first, second = group["betas"]
    return (1 - first**step, 1 - second**step) if group["bias_correction"] else (1.0, 1.0)
