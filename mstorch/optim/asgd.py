"""Averaged stochastic gradient descent."""

from __future__ import annotations

from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _as_real,
    _check_capturable,
    _check_lr,
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

__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """Gradient descent whose state `ax` is the mean of the parameters since step `t0`.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992. Raises ValueError for a negative
    lr or weight_decay.
    """

    def __init__(
        self,
        params,
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
        _check_lr(lr)
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
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

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(self, foreach=None, maximize=False, differentiable=False, capturable=False)
        _restore_counters(self, on_device="always", names=("step", "eta", "mu"))

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = _new_counter(param, True)
            state["eta"] = _new_counter(param, True, _number(group["lr"]))
            state["mu"] = _new_counter(param, True, 1.0)
            state["ax"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "ASGD does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            asgd(
                params,
                grads,
                [state["ax"] for state in states],
                [state["mu"] for state in states],
                [state["eta"] for state in states],
                [state["step"] for state in states],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                lambd=group["lambd"],
                lr=group["lr"],
                t0=group["t0"],
                alpha=group["alpha"],
                weight_decay=group["weight_decay"],
            )
        return loss


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
    """Update `params`, their means, the rates of both and the step counters in place."""
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        axs,
        mus,
        etas,
        state_steps,
        lambd=lambd,
        lr=_to_scalar(lr),
        t0=t0,
        alpha=alpha,
        weight_decay=weight_decay,
        maximize=maximize,
        capturable=capturable,
        foreach=bool(foreach),
    )


def _update(
    params, grads, axs, mus, etas, state_steps, *, lambd, lr, t0, alpha, weight_decay, maximize, capturable, foreach
) -> None:
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        mean, mu, eta, step = axs[i], mus[i], etas[i], state_steps[i]
        if capturable:
            _check_capturable(param, mu, eta, step, what="params, mus, etas, and state_steps")
        if param.is_complex():
            param, grad, mean = _as_real(param, grad, mean)
        step.add_(1)
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)

        if capturable:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            mean.add_(param.sub(mean).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** alpha))
            mu.copy_(1 / (step - t0).clamp(min=1))
            continue
        rate = eta.item()
        if foreach:  # torch's order over lists, in which an infinite parameter becomes no number
            param.add_(grad.add(param, alpha=lambd), alpha=-rate)
        else:
            param.mul_(1 - lambd * rate)
            param.add_(grad, alpha=-rate)
        if mu.item() == 1 and not foreach:
            mean.copy_(param)
        else:
            mean.add_(param.sub(mean).mul_(mu))
        count = step.item()
        eta.fill_(_number(lr / ((1 + lambd * lr * count) ** alpha)))
        mu.fill_(1 / max(1, count - t0))
