"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from .._tensor import Tensor
from ._forms import forms
from ._options import check_options
from ._stepping import Counter, Stepping, check_captured, check_counters, prepared, with_eps, zeros
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["NAdam", "nadam"]


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Update `params`, the moments, the momentum products and the step counters in place."""
    check_counters(state_steps)
    check_counters(mu_products, "mu_products")
    if capturable:
        check_captured(params, mu_products, state_steps, what="params, mu_products and state_steps")
    lr = _to_scalar(lr)
    ready = prepared(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        steps=state_steps,
        maximize=maximize,
        weight_decay=weight_decay,
        decoupled_lr=lr if decoupled_weight_decay else None,
        real_first=True,
    )
    for (param, grad, step, mean, square), product in zip(ready, mu_products, strict=True):
        if not capturable:
            step = step.item()
        correction2 = 1 - beta2**step
        momentum = beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
        next_momentum = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        product.mul_(momentum)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = with_eps(square.div(correction2).sqrt(), eps, differentiable)
        if capturable or differentiable:
            next_product = product * next_momentum
            param.addcdiv_(grad * (-lr * (1.0 - momentum) / (1.0 - product)), denominator)
            param.addcdiv_(mean * (-lr * next_momentum / (1.0 - next_product)), denominator)
        else:
            done = product.item()
            next_product = done * next_momentum
            param.addcdiv_(grad, denominator, value=_get_value(-lr * (1.0 - momentum) / (1.0 - done)))
            param.addcdiv_(mean, denominator, value=_get_value(-lr * next_momentum / (1.0 - next_product)))


@Stepping(
    nadam,
    elementwise=True,
    state={"step": Counter(), "mu_product": Counter(1.0), "exp_avg": zeros, "exp_avg_sq": zeros},
    lists={
        "exp_avgs": "exp_avg",
        "exp_avg_sqs": "exp_avg_sq",
        "mu_products": "mu_product",
        "state_steps": "step",
    },
    split={"betas": ("beta1", "beta2")},
    later={
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    },
)
class NAdam(Optimizer):
    """Adam with Nesterov momentum, which increases at the rate ``momentum_decay`` as in the paper.

    Dozat, "Incorporating Nesterov Momentum into Adam", 2016. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)


_single_tensor_nadam, _multi_tensor_nadam, *_ = forms(
    nadam, "beta1 beta2 lr weight_decay momentum_decay eps decoupled_weight_decay maximize capturable differentiable has_complex"
)
