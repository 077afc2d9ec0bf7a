"""Adagrad."""

from __future__ import annotations

from .._ops.creation import full_like
from .._sparse.base import like
from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _as_real,
    _check_fused,
    _check_fused_param,
    _check_lr,
    _check_no_grad_scale,
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
)

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all squared gradients so far.

    Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011. Raises
    ValueError for negative options, RuntimeError for weight decay of sparse gradients.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_lr(lr)
        _require(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        _require(
            initial_accumulator_value >= 0.0, f"Invalid initial_accumulator_value value: {initial_accumulator_value}"
        )
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        _check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._state_of(param, group)

    def share_memory(self) -> None:
        """Move the sums of squares to memory that processes share."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(self, foreach=None, maximize=False, differentiable=False, fused=None)
        _restore_counters(self, on_device=None)

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            fused = group["fused"]
            start = self.defaults["initial_accumulator_value"]
            state["step"] = _new_counter(param, fused, fused=fused)
            state["sum"] = full_like(param, complex(start, start) if param.is_complex() else start)
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group)
            if group["fused"]:
                for param in params:
                    _check_fused_param(param)
            states = [self._state_of(param, group) for param in params]
            adagrad(
                params,
                grads,
                [state["sum"] for state in states],
                [state["step"] for state in states],
                fused=group["fused"],
                foreach=group["foreach"],
                differentiable=group["differentiable"],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                lr_decay=group["lr_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Update `params`, the sums of squares and the step counters in place."""
    _check_state_steps(state_steps)
    _check_no_grad_scale(grad_scale, found_inf)
    # The place of a kernel that serves the whole list.
    _update(
        params,
        grads,
        state_sums,
        state_steps,
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        lr_decay=lr_decay,
        eps=eps,
        maximize=maximize,
    )


def _update(params, grads, sums, state_steps, *, lr, weight_decay, lr_decay, eps, maximize) -> None:
    for param, grad, total, step in zip(params, grads, sums, state_steps, strict=True):
        step.add_(1)
        if maximize:
            grad = -grad
        if weight_decay != 0:
            if grad.is_sparse:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.add(param, alpha=weight_decay)
        rate = lr / (1 + (step.item() - 1) * lr_decay)
        if grad.is_sparse:
            _update_rows(param, grad.coalesce(), total, rate, eps)
            continue
        if param.is_complex():
            param, grad, total = _as_real(param, grad, total)
        total.addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, total.sqrt().add(eps), value=-_number(rate))


def _update_rows(param, grad, total, rate, eps) -> None:
    values = grad.values()
    total.add_(like(grad, values.pow(2)))
    scale = total.sparse_mask(grad).values().sqrt().add(eps)
    param.add_(like(grad, values / scale), alpha=-_number(rate))
