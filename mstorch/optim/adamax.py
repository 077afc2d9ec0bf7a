"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from .._src.core.above import above
from .._tensor import Tensor
from ._forms import forms
from ._options import check_options
from ._stepping import LATER, Counter, Stepping, check_captured, check_counters, prepared, zeros
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Adamax", "adamax"]


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """Update ``params``, the first moments, infinity norms and step counters in place."""
    check_counters(state_steps)
    if capturable:
        check_captured(params, state_steps)
    lr = _to_scalar(lr)
    for param, grad, step, mean, norm in prepared(
        params, grads, exp_avgs, exp_infs, steps=state_steps, maximize=maximize, weight_decay=weight_decay
    ):
        mean.lerp_(grad, 1 - beta1)
        if differentiable:
            norm.copy_(norm.mul(beta2).maximum(grad.abs().add(eps)))
        else:
            above.torch.maximum(norm.mul_(beta2), grad.abs().add_(eps), out=norm)
        if capturable:
            correction = (beta1**step - 1).div_(lr)
            param.addcdiv_(mean, norm * correction)
        else:
            rate = lr / (1 - beta1 ** step.item())
            param.addcdiv_(mean, norm, value=-_get_value(rate))


@Stepping(
    adamax,
    elementwise=True,
    state={"step": Counter(), "exp_avg": zeros, "exp_inf": zeros},
    lists={"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
    split={"betas": ("beta1", "beta2")},
    later=LATER,
)
class Adamax(Optimizer):
    """Adam with the infinity norm in place of the second moment.

    Kingma and Ba, arXiv:1412.6980, section 7.1. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)


_single_tensor_adamax, _multi_tensor_adamax, *_ = forms(
    adamax, "eps beta1 beta2 lr weight_decay maximize differentiable capturable has_complex"
)
