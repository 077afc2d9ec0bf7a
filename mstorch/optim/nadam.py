"""NAdam: Adam with Nesterov momentum."""

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

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum that grows by the schedule of the paper, at the rate `momentum_decay`.

    Dozat, "Incorporating Nesterov Momentum into Adam", 2016. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params,
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
        _check_lr(lr)
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        _require(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
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

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(
            self, maximize=False, foreach=None, capturable=False, differentiable=False, decoupled_weight_decay=False
        )
        _restore_counters(self, names=("step", "mu_product"))

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = _new_counter(param, group["capturable"])
            state["mu_product"] = _new_counter(param, group["capturable"], 1.0)
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "NAdam does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            beta1, beta2 = group["betas"]
            nadam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["mu_product"] for state in states],
                [state["step"] for state in states],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                maximize=group["maximize"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                momentum_decay=group["momentum_decay"],
                eps=group["eps"],
            )
        return loss


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
    _check_state_steps(state_steps)
    _check_state_steps(mu_products, "mu_products")
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        mu_products,
        state_steps,
        beta1=beta1,
        beta2=beta2,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        momentum_decay=momentum_decay,
        eps=eps,
        decoupled_weight_decay=decoupled_weight_decay,
        maximize=maximize,
        capturable=capturable,
        differentiable=differentiable,
    )


def _update(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    mu_products,
    state_steps,
    *,
    beta1,
    beta2,
    lr,
    weight_decay,
    momentum_decay,
    eps,
    decoupled_weight_decay,
    maximize,
    capturable,
    differentiable,
) -> None:
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        mean, square, product = exp_avgs[i], exp_avg_sqs[i], mu_products[i]
        if param.is_complex():
            param, grad, mean, square = _as_real(param, grad, mean, square)
        if capturable:
            _check_capturable(param, product, state_steps[i], what="params, mu_products and state_steps")
        state_steps[i].add_(1)
        step = state_steps[i] if capturable else state_steps[i].item()
        correction2 = 1 - beta2**step
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)

        momentum = beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
        next_momentum = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        product.mul_(momentum)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = square.div(correction2).sqrt().add(eps)
        if capturable or differentiable:
            next_product = product * next_momentum
            param.addcdiv_(grad * (-lr * (1.0 - momentum) / (1.0 - product)), denominator)
            param.addcdiv_(mean * (-lr * next_momentum / (1.0 - next_product)), denominator)
        else:
            done = product.item()
            next_product = done * next_momentum
            param.addcdiv_(grad, denominator, value=_number(-lr * (1.0 - momentum) / (1.0 - done)))
            param.addcdiv_(mean, denominator, value=_number(-lr * next_momentum / (1.0 - next_product)))
