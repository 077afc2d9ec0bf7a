"""Resilient backpropagation."""

from __future__ import annotations

from .._ops.creation import full_like, zeros_like
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
    _use_grad_for_differentiable,
    _with_grad,
)

__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Moves each value by a step of its own: times etas[1] while the gradient keeps its sign, etas[0] when it turns.

    Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    `step_sizes` bounds the steps. Raises ValueError unless 0 < etas[0] < 1 < etas[1].
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
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
            lr = _number(group["lr"])
            state["step"] = _new_counter(param, group["capturable"])
            state["prev"] = zeros_like(param)
            state["step_size"] = full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "Rprop does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            etaminus, etaplus = group["etas"]
            smallest, largest = group["step_sizes"]
            rprop(
                params,
                grads,
                [state["prev"] for state in states],
                [state["step_size"] for state in states],
                [state["step"] for state in states],
                foreach=group["foreach"],
                capturable=group["capturable"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                step_size_min=smallest,
                step_size_max=largest,
                etaminus=etaminus,
                etaplus=etaplus,
            )
        return loss


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Update `params`, the last gradients, the step sizes and the step counters in place."""
    _check_state_steps(state_steps)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        prevs,
        step_sizes,
        state_steps,
        step_size_min=step_size_min,
        step_size_max=step_size_max,
        etaminus=etaminus,
        etaplus=etaplus,
        maximize=maximize,
        capturable=capturable,
        differentiable=differentiable,
    )


def _update(
    params,
    grads,
    prevs,
    step_sizes,
    state_steps,
    *,
    step_size_min,
    step_size_max,
    etaminus,
    etaplus,
    maximize,
    capturable,
    differentiable,
) -> None:
    for param, grad, last, size, step in zip(params, grads, prevs, step_sizes, state_steps, strict=True):
        if capturable:
            _check_capturable(param, step)
        step.add_(1)
        if maximize:
            grad = -grad
        if param.is_complex():
            param, grad, last, size = _as_real(param, grad, last, size)
        product = grad.mul(last.clone() if differentiable else last)
        turned = product.lt(0)
        # No number, as infinity times the first gradient of zero is, leaves the size as it is.
        sign = product.sign()
        factor = sign.masked_fill(sign.eq(0), 1).masked_fill(product.gt(0), etaplus).masked_fill(turned, etaminus)
        size.mul_(factor).clamp_(step_size_min, step_size_max)
        # Where the sign turned the value rests for one step, and the next step compares with zero.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        last.copy_(grad)
