"""Gradients of losses in terms of ATen operators."""
from __future__ import annotations

import math
from typing import Any

from .._tensor import Tensor
from .calling import Derived, NotInTerms, derivative
from .composites import aten
from .derivatives_layers import option


@derivative("mse_loss.default", label="MseLossBackward0")
def _mse_loss(node: Derived, grad: Tensor) -> Any:
    first, second, code = node.arg(0), node.arg(1), option(node, 2, 1)
    left = aten("mse_loss_backward", grad, first, second, code) if node.needs(0) else None
    return left, aten("mse_loss_backward", grad, second, first, code) if node.needs(1) else None


@derivative("smooth_l1_loss.default", label="SmoothL1LossBackward0")
def _smooth_l1_loss(node: Derived, grad: Tensor) -> Any:
    first, second, code, beta = node.arg(0), node.arg(1), option(node, 2, 1), option(node, 3, 1.0)
    left = aten("smooth_l1_loss_backward", grad, first, second, code, beta) if node.needs(0) else None
    return left, aten("smooth_l1_loss_backward", grad, second, first, code, beta) if node.needs(1) else None


@derivative("binary_cross_entropy_with_logits.default", label="BinaryCrossEntropyWithLogitsBackward0")
def _logits_loss(node: Derived, grad: Tensor) -> Any:
    if len(node.plan) > 2 and (node.plan[2] is not None or len(node.plan) > 3 and node.plan[3] is not None):
        raise NotInTerms("mstorch: the gradient of a weighted loss of logits is not known in the terms of torch.ops.aten")
    x, target, code = node.arg(0), node.arg(1), option(node, 4, 1)

    def averaged(part: Tensor) -> Tensor:
        return aten("div_.Scalar", part, math.prod(node.shapes[0])) if code == 1 else part

    left = averaged((x.sigmoid() - target) * grad) if node.needs(0) else None
    return left, averaged(x.neg() * grad) if node.needs(1) else None


@derivative("huber_loss.default", label="HuberLossBackward0")
def _huber_loss(node: Derived, grad: Any) -> Any:
    options = grad, node.arg(0), node.arg(1), option(node, 2, 1), option(node, 3, 1.0)
    found = aten("huber_loss_backward", *options) if node.needs(0) else None
    return found, -aten("huber_loss_backward", *options) if node.needs(1) else None
