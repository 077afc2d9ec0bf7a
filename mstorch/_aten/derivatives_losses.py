"""Gradients of losses in terms of ATen operators."""
from __future__ import annotations

import math
from typing import Any

from .._tensor import Tensor
from .calling import Derived, NotInTerms, derivative
from .composites import aten
from .derivatives_layers import option


@derivative("nll_loss_forward.default", label="NllLossBackward0")
def _nll_loss(node: Derived, grad: Tensor, _: Any = None) -> tuple[Tensor, Any, Any]:
    found = aten("nll_loss_backward", grad, *(node.arg(place) for place in range(5)), node.result(1))
    return found, None, None


@derivative("nll_loss2d_forward.default", label="NllLoss2DBackward0")
def _nll_loss2d(node: Derived, grad: Tensor, _: Any = None) -> tuple[Tensor, Any, Any]:
    found = aten("nll_loss2d_backward", grad, *(node.arg(place) for place in range(5)), node.result(1))
    return found, None, None


@derivative("multi_margin_loss.default", label="MultiMarginLossBackward0")
def _multi_margin_loss(node: Derived, grad: Any) -> Any:
    weight = node.arg(4) if len(node.plan) > 4 and node.plan[4] is not None else None
    options = option(node, 2, 1), option(node, 3, 1), weight, *([] if option(node, 5, 1) == 1 else [node.plan[5]])
    return aten("multi_margin_loss_backward", grad, node.arg(0), node.arg(1), *options), None, None


@derivative("multilabel_margin_loss_forward.default", label="MultilabelMarginLossBackward0")
def _multilabel_margin_loss(node: Derived, grad: Any, _: Any = None) -> Any:
    return aten("multilabel_margin_loss_backward", grad, *(node.arg(place) for place in range(3)), node.result(1)), None


@derivative("soft_margin_loss.default", label="SoftMarginLossBackward0")
def _soft_margin_loss(node: Derived, grad: Any) -> Any:
    return aten("soft_margin_loss_backward", grad, node.arg(0), node.arg(1), option(node, 2, 1)), None


def _ctc(overload: str) -> None:
    @derivative(f"_ctc_loss.{overload}", label="CtcLossBackward0")
    def backward(node: Derived, grad: Any, _: Any = None) -> Any:
        given = [node.arg(place) for place in range(4)]
        options = option(node, 4, 0), *([True] if option(node, 5, False) else [])
        found = aten(f"_ctc_loss_backward.{overload}", grad, *given, node.result(0), node.result(1), *options)
        return found, *[None] * (len(node.shapes) - 1)


_ctc("default")
_ctc("Tensor")


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


@derivative("binary_cross_entropy.default", label="BinaryCrossEntropyBackward0")
def _binary_cross_entropy(node: Derived, grad: Any) -> Any:
    if len(node.shapes) > 1 and node.needs(1):
        raise NotInTerms("mstorch: the gradient of a target is not known in the terms of torch.ops.aten")
    weight = node.arg(2) if len(node.plan) > 2 and node.plan[2] is not None else None
    return aten("binary_cross_entropy_backward", grad, node.arg(0), node.arg(1), weight, option(node, 3, 1)), None, None
