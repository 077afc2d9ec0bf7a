"""Adadelta."""

from __future__ import annotations

from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _as_real,
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

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Optimizer):
    """Scales the gradient by the ratio of the running root mean squares of past moves and past gradients.

    Zeiler, "ADADELTA: An Adaptive Learning Rate Method", arXiv:1212.5701. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
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
            state["square_avg"] = zeros_like(param)
            state["acc_delta"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "Adadelta does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            adadelta(
                params,
                grads,
                [state["square_avg"] for state in states],
                [state["acc_delta"] for state in states],
                [state["step"] for state in states],
                capturable=group["capturable"],
                foreach=group["foreach"],
                differentiable=group["differentiable"],
                lr=group["lr"],
                rho=group["rho"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                maximize=group["maximize"],
            )
        return loss


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update `params`, the two averages and the step counters in place."""
    _check_state_steps(state_steps)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        square_avgs,
        acc_deltas,
        state_steps,
        lr=_to_scalar(lr),
        rho=rho,
        eps=eps,
        weight_decay=weight_decay,
        maximize=maximize,
        capturable=capturable,
        differentiable=differentiable,
    )


def _update(
    params,
    grads,
    square_avgs,
    acc_deltas,
    state_steps,
    *,
    lr,
    rho,
    eps,
    weight_decay,
    maximize,
    capturable,
    differentiable,
) -> None:
    for param, grad, square, moved, step in zip(params, grads, square_avgs, acc_deltas, state_steps, strict=True):
        if capturable:
            _check_capturable(param, step)
        step.add_(1)
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, square, moved = _as_real(param, grad, square, moved)
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        move = moved.add(eps).sqrt_()
        if differentiable:
            move = move.clone()
        move.div_(root).mul_(grad)
        moved.mul_(rho).addcmul_(move, move, value=1 - rho)
        param.add_(move, alpha=-_number(lr))
