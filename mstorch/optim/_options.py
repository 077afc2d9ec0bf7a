"""Checks of optimizer options, with torch's error messages."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from .optimizer import Optimizer


def require(condition: Tensor | bool, message: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(message)


def check_lr(lr: float | Tensor, message: str = "Invalid learning rate: {}") -> None:
    """Raise ValueError for a negative rate, or for a tensor with several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    require(lr >= 0.0, message.format(lr))


def check_options(**given: Any) -> None:
    """Raise ValueError for the first invalid option: a learning rate that ``check_lr`` rejects, betas outside [0, 1), or another negative
    number."""
    for name, value in given.items():
        if name == "lr":
            check_lr(value)
        elif name == "betas":
            for i in (0, 1):
                require(0.0 <= value[i] < 1.0, f"Invalid beta parameter at index {i}: {value[i]}")
        else:
            require(value >= 0.0, f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError if ``fused`` is combined with ``foreach`` or ``differentiable``."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def refuse_spread(optimizer: Optimizer) -> None:
    """Raise NotImplementedError for DTensor parameters, if the optimizer's step is not elementwise."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if getattr(parameter, "_spread_zeros", None) is not None:
                raise NotImplementedError(f"mstorch: {type(optimizer).__name__} of parameters that are DTensors")
