"""RMSprop."""

from __future__ import annotations

from .._ops.complex_views import view_as_real
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

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Optimizer):
    """Divides the gradient by a running root mean square; `centered` by the running standard deviation.

    Hinton, lecture 6 of "Neural Networks for Machine Learning", 2012; centered: Graves, arXiv:1308.0850. The root
    is taken before eps is added. Raises ValueError for negative options.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_lr(lr)
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        _require(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(
            self, momentum=0, centered=False, foreach=None, maximize=False, differentiable=False, capturable=False
        )
        _restore_counters(self)

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            state["step"] = _new_counter(param, group["capturable"])
            state["square_avg"] = zeros_like(param)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_like(param)
            if group["centered"]:
                state["grad_avg"] = zeros_like(param)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "RMSprop does not support sparse gradients")
            states = [self._state_of(param, group) for param in params]
            rmsprop(
                params,
                grads,
                [state["square_avg"] for state in states],
                [state["grad_avg"] for state in states] if group["centered"] else [],
                [state["momentum_buffer"] for state in states] if group["momentum"] > 0 else [],
                [state["step"] for state in states],
                foreach=group["foreach"],
                maximize=group["maximize"],
                differentiable=group["differentiable"],
                capturable=group["capturable"],
                lr=group["lr"],
                alpha=group["alpha"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                centered=group["centered"],
            )
        return loss


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Update `params`, the averages and the step counters in place."""
    _check_state_steps(state_steps)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        square_avgs,
        grad_avgs,
        momentum_buffer_list,
        state_steps,
        lr=_to_scalar(lr),
        alpha=alpha,
        eps=eps,
        weight_decay=weight_decay,
        momentum=momentum,
        centered=centered,
        maximize=maximize,
        capturable=capturable,
    )


def _update(
    params,
    grads,
    square_avgs,
    grad_avgs,
    buffers,
    state_steps,
    *,
    lr,
    alpha,
    eps,
    weight_decay,
    momentum,
    centered,
    maximize,
    capturable,
) -> None:
    for i, param in enumerate(params):
        if capturable:
            _check_capturable(param, state_steps[i])
        state_steps[i].add_(1)
        grad = -grads[i] if maximize else grads[i]
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        square = square_avgs[i]
        mean = grad_avgs[i] if centered else None
        buffer = buffers[i] if momentum > 0 else None
        if param.is_complex():
            param, grad, square = _as_real(param, grad, square)
            mean = None if mean is None else view_as_real(mean)
            buffer = None if buffer is None else view_as_real(buffer)

        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if mean is None:
            root = square.sqrt()
        else:
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        # Not in place: autograd keeps the result of the root for its backward.
        root = root.add(eps)
        if buffer is None:
            param.addcdiv_(grad, root, value=-_number(lr))
        else:
            buffer.mul_(momentum).addcdiv_(grad, root)
            param.add_(buffer, alpha=-_number(lr))
