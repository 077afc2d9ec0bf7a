"""Gradients of functions that are composed of torch's operations."""
from __future__ import annotations

from collections.abc import Callable

import mstorch as torch

Tensor = torch.Tensor


def add_gradients(function: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor, targets: tuple[Tensor, ...]) -> None:
    """Add to the targets the gradients of a function's inputs, for a gradient of its result."""
    with torch.enable_grad():
        leaves = [item.detach().requires_grad_() for item in inputs]
        result = function(*leaves)
        slopes = torch.autograd.grad(result, leaves, grad.to(result.dtype), allow_unused=True)
    with torch.no_grad():
        for target, slope in zip(targets, slopes):
            if slope is not None:
                target.add_(slope.to(target.dtype))


__all__ = ["add_gradients"]
