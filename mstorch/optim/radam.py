"""RAdam: Adam with a rectified learning rate."""

from __future__ import annotations

from .._tensor import Tensor
from ._forms import forms
from ._options import check_options
from ._stepping import Counter, Stepping, check_captured, check_counters, prepared, zeros
from .optimizer import Optimizer, ParamsT, _to_scalar

__all__ = ["RAdam", "radam"]


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """Update `params`, the moments and the step counters in place."""
    check_counters(state_steps)
    if capturable:
        check_captured(params, state_steps)
    lr = _to_scalar(lr)
    # The length of the simple moving average that is equivalent to a moment with beta2: its limit, and below its current value.
    limit = 2 / (1 - beta2) - 1
    for param, grad, step, mean, square in prepared(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        steps=state_steps,
        maximize=maximize,
        weight_decay=weight_decay,
        decoupled_lr=lr if decoupled_weight_decay else None,
        real_first=True,
    ):
        if not capturable:
            step = step.item()
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        length = limit - 2 * step * (beta2**step) / correction2
        move = mean / correction1 * lr
        if capturable:
            update = (_rectify(length, limit) * _adapt(square, correction2, eps)).where(length > 5.0, 1.0)
            param.add_(move * update, alpha=-1.0)
        elif length > 5.0:
            param.add_(move * _adapt(square, correction2, eps) * _rectify(length, limit), alpha=-1.0)
        else:
            param.add_(move, alpha=-1.0)


def _rectify(length, limit):
    return ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5


def _adapt(square, correction2, eps):
    return (correction2**0.5) / square.sqrt().add(eps)


@Stepping(
    radam,
    elementwise=True,
    state={"step": Counter(), "exp_avg": zeros, "exp_avg_sq": zeros},
    lists={"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
    split={"betas": ("beta1", "beta2")},
    later={
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    },
)
class RAdam(Optimizer):
    """Adam whose adaptive rate is switched on gradually, once its variance is tractable.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", arXiv:1908.03265. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)


_single_tensor_radam, _multi_tensor_radam, *_ = forms(
    radam, "beta1 beta2 lr weight_decay eps decoupled_weight_decay differentiable maximize capturable has_complex"
)
