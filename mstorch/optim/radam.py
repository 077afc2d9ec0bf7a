"""RAdam: Adam with a rectified learning rate."""

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
    _require,
    _restore_counters,
    _set_missing,
    _to_scalar,
    _use_grad_for_differentiable,
    _with_grad,
    zeros_like,
)

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """Adam that turns its adaptive rate on, by degrees, once the variance of that rate is tractable.

    Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", arXiv:1908.03265. Raises ValueError for
    options out of range.
    """

    def __init__(
        self,
        params,
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
        _check_lr(lr)
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
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

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(
            self, foreach=None, maximize=False, differentiable=False, decoupled_weight_decay=False, capturable=False
        )
        _restore_counters(self)

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = _new_counter(param, group["capturable"])
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "RAdam does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            beta1, beta2 = group["betas"]
            radam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["step"] for state in states],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                foreach=group["foreach"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                maximize=group["maximize"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
            )
        return loss


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
    _check_state_steps(state_steps)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        state_steps,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        eps=eps,
        decoupled_weight_decay=decoupled_weight_decay,
        maximize=maximize,
        capturable=capturable,
    )


def _update(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    state_steps,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    decoupled_weight_decay,
    maximize,
    capturable,
) -> None:
    # The length of the simple moving average that a moment with beta2 amounts to: its limit, and below its value now.
    limit = 2 / (1 - beta2) - 1
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        mean, square = exp_avgs[i], exp_avg_sqs[i]
        if capturable:
            _check_capturable(param, state_steps[i])
        if param.is_complex():
            param, grad, mean, square = _as_real(param, grad, mean, square)
        state_steps[i].add_(1)
        step = state_steps[i] if capturable else state_steps[i].item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)

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
