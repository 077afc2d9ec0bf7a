"""Averaged stochastic gradient descent."""

from __future__ import annotations

from .._tensor import Tensor
from ._forms import forms
from ._options import check_options
from ._stepping import LATER, Counter, Stepping, check_captured, prepared, zeros
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["ASGD", "asgd"]


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Update ``params``, their averages, both rates and the step counters in place."""
    if capturable:
        check_captured(params, mus, etas, state_steps, what="params, mus, etas, and state_steps")
    lr = _to_scalar(lr)
    ready = prepared(params, grads, axs, steps=state_steps, maximize=maximize, weight_decay=weight_decay, real_first=True)
    for (param, grad, step, mean), mu, eta in zip(ready, mus, etas, strict=True):
        if capturable:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            mean.add_(param.sub(mean).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** alpha))
            mu.copy_(1 / (step - t0).clamp(min=1))
            continue
        rate = eta.item()
        if foreach:  # torch's foreach order of operations, in which an infinite parameter becomes NaN
            param.add_(grad.add(param, alpha=lambd), alpha=-rate)
        else:
            param.mul_(1 - lambd * rate)
            param.add_(grad, alpha=-rate)
        if mu.item() == 1 and not foreach:
            mean.copy_(param)
        else:
            mean.add_(param.sub(mean).mul_(mu))
        count = step.item()
        eta.fill_(_get_value(lr / ((1 + lambd * lr * count) ** alpha)))
        mu.fill_(1 / max(1, count - t0))


@Stepping(
    asgd,
    elementwise=True,
    state={
        "step": Counter(beside=True),
        "eta": Counter(lambda group: _get_value(group["lr"]), beside=True),
        "mu": Counter(1.0, beside=True),
        "ax": zeros,
    },
    lists={"mus": "mu", "axs": "ax", "etas": "eta", "state_steps": "step"},
    later=LATER,
)
class ASGD(Optimizer):
    """Stochastic gradient descent whose state ``ax`` is the average of the parameters since step ``t0``.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992. Raises ValueError for a negative lr or weight_decay.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)


_single_tensor_asgd, _multi_tensor_asgd, *_ = forms(asgd, "lambd lr t0 alpha weight_decay maximize differentiable capturable has_complex")
