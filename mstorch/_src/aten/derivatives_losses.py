"""Gradients of losses in terms of ATen operators."""
from __future__ import annotations

import math
from typing import Any

from ..._tensor import Tensor
from .calling import Derived, NotInTerms, derivative
from .composites import aten


def _of_both(name: str, label: str, *defaults: float) -> None:
    """Register the gradients of a loss of ``input - target``: one call of its backward operator, and one with the operands exchanged."""

    @derivative(f"{name}.default", label=label)
    def backward(node: Derived, grad: Tensor) -> Any:
        first, second = node.arg(0), node.arg(1)
        options = [node.option(place, default) for place, default in enumerate(defaults, 2)]
        left = aten(f"{name}_backward", grad, first, second, *options) if node.needs(0) else None
        return left, aten(f"{name}_backward", grad, second, first, *options) if node.needs(1) else None


_of_both("mse_loss", "MseLossBackward0", 1)
_of_both("smooth_l1_loss", "SmoothL1LossBackward0", 1, 1.0)


@derivative("binary_cross_entropy_with_logits.default", label="BinaryCrossEntropyWithLogitsBackward0")
def _logits_loss(node: Derived, grad: Tensor) -> Any:
    if node.option(2, None) is not None or node.option(3, None) is not None:
        raise NotInTerms("mstorch: the gradient of a weighted loss of logits is not known in the terms of torch.ops.aten")
    x, target, code = node.arg(0), node.arg(1), node.option(4, 1)

    def averaged(part: Tensor) -> Tensor:
        return aten("div_.Scalar", part, math.prod(node.shapes[0])) if code == 1 else part

    left = averaged((x.sigmoid() - target) * grad) if node.needs(0) else None
    return left, averaged(x.neg() * grad) if node.needs(1) else None


@derivative("huber_loss.default", label="HuberLossBackward0")
def _huber_loss(node: Derived, grad: Any) -> Any:
    options = grad, node.arg(0), node.arg(1), node.option(2, 1), node.option(3, 1.0)
    found = aten("huber_loss_backward", *options) if node.needs(0) else None
    return found, -aten("huber_loss_backward", *options) if node.needs(1) else None
