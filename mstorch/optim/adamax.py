"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _as_real,
    _check_betas,
    _check_capturable,
    _check_lr,
    _check_state_steps,
    _evaluate,
    _new_counter,
    _number,
    _require,
    _restore_counters,
    _set_missing,
    _to_scalar,
    _use_grad_for_differentiable,
    _with_grad,
    zeros_like,
)

__all__ = ["Adamax", "adamax"]


class Adamax(Optimizer):
    """Adam with the infinity norm in place of the second moment.

    Kingma and Ba, arXiv:1412.6980, section 7.1. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params,
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
        _check_lr(lr)
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
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

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        _restore_counters(self)

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = _new_counter(param, group["capturable"])
            state["exp_avg"] = zeros_like(param)
            state["exp_inf"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "Adamax does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            beta1, beta2 = group["betas"]
            adamax(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_inf"] for state in states],
                [state["step"] for state in states],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                eps=group["eps"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
            )
        return loss


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
    """Update `params`, mean, norm and the step counters in place."""
    _check_state_steps(state_steps)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        exp_avgs,
        exp_infs,
        state_steps,
        eps=eps,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        maximize=maximize,
        capturable=capturable,
    )


def _update(
    params, grads, exp_avgs, exp_infs, state_steps, *, eps, beta1, beta2, lr, weight_decay, maximize, capturable
) -> None:
    for param, grad, mean, norm, step in zip(params, grads, exp_avgs, exp_infs, state_steps, strict=True):
        if capturable:
            _check_capturable(param, step)
        step.add_(1)
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, mean, norm = _as_real(param, grad, mean, norm)
        mean.lerp_(grad, 1 - beta1)
        norm.copy_(norm.mul(beta2).maximum(grad.abs().add(eps)))
        if capturable:
            correction = (beta1**step - 1).div_(lr)
            param.addcdiv_(mean, norm * correction)
        else:
            rate = lr / (1 - beta1 ** step.item())
            param.addcdiv_(mean, norm, value=-_number(rate))
