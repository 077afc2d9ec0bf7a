"""Adafactor: a second moment kept as the outer product of a row and a column."""

from __future__ import annotations

from typing import Any

from .._core.dtype import finfo
from .._tensor import Tensor
from ..autograd import no_grad
from .optimizer import (
    Optimizer,
    _check_lr,
    _evaluate,
    _new_counter,
    _number,
    _require,
    _restore_counters,
    _set_missing,
    _to_scalar,
    _with_grad,
    refuse_spread,
    zeros_like,
)

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adam without a mean, whose second moment takes the memory of one row and one column of each matrix.

    Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", arXiv:1804.04235; `lr` is the
    largest step size, `eps[0]` None is the dtype's own. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _check_lr(lr, "Learning rate should be >= 0 but is: {}")
        _require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        _require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        _require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        _require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        _require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        refuse_spread(self)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(self, foreach=None)
        _restore_counters(self, on_device=None)

    def _state_of(self, param: Tensor) -> dict:
        state = self.state[param]
        if not state:
            grad: Any = param.grad
            state["step"] = _new_counter(param, False)
            if grad.dim() > 1:
                *batch, rows, columns = grad.shape
                state["row_var"] = grad.new_zeros([*batch, rows, 1])
                state["col_var"] = grad.new_zeros([*batch, 1, columns])
            else:
                state["variance"] = zeros_like(grad)
        return state

    @no_grad()
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group, "Adafactor does not support sparse gradients")
            if any(param.is_complex() for param in params):
                raise RuntimeError("Adafactor does not support complex parameters")
            states = [self._state_of(param) for param in params]
            eps1, eps2 = group["eps"]
            adafactor(
                params,
                grads,
                [state.get("row_var") for state in states],
                [state.get("col_var") for state in states],
                [state.get("variance") for state in states],
                [state["step"] for state in states],
                foreach=group["foreach"],
                d=group["d"],
                lr=group["lr"],
                beta2_decay=group["beta2_decay"],
                weight_decay=group["weight_decay"],
                eps1=eps1,
                eps2=eps2,
                maximize=group["maximize"],
            )
        return loss


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """Update `params`, the variances and the step counters in place."""
    if not all(isinstance(step, Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        row_vars,
        col_vars,
        variances,
        state_steps,
        d=d,
        lr=_to_scalar(lr),
        beta2_decay=beta2_decay,
        weight_decay=weight_decay,
        eps1=eps1,
        eps2=eps2,
        maximize=maximize,
    )


def _update(
    params,
    grads,
    row_vars,
    col_vars,
    variances,
    state_steps,
    *,
    d,
    lr,
    beta2_decay,
    weight_decay,
    eps1,
    eps2,
    maximize,
) -> None:
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        if eps1 is None:
            # As in torch, the first parameter's dtype decides for all of the group.
            eps1 = finfo(param.dtype).eps
        state_steps[i].add_(1)
        step = state_steps[i].item()
        weight = step**beta2_decay
        scale = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)

        if grad.dim() > 1:
            rows, columns = row_vars[i], col_vars[i]
            rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
            columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
            variance = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance = variances[i]
            variance.lerp_(grad * grad, weight)
        update = variance.clamp(min=eps1 * eps1).rsqrt_().mul_(grad)
        norm = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * d))
        param.add_(update, alpha=_number(-scale / norm))


def _rms(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
