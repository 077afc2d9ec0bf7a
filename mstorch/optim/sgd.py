"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from .._ops.optim import Steps, add_on_device, can_fuse, has_kernels, momentum_on_device
from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _check_fused,
    _check_fused_param,
    _check_lr,
    _check_no_grad_scale,
    _evaluate,
    _number,
    _require,
    _set_missing,
    _to_scalar,
    _tracked,
    _use_grad_for_differentiable,
    _with_grad,
)

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent; the momentum buffer starts as the first gradient, undamped.

    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013. Raises ValueError for
    negative options and for nesterov without momentum or with dampening.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_lr(lr)
        _require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        _require(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        _check_fused(fused, foreach, differentiable)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(self, nesterov=False, maximize=False, foreach=None, differentiable=False, fused=False)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(group)
            if group["fused"]:
                for param in params:
                    _check_fused_param(param)
            momentum = group["momentum"]
            buffers = [self.state[param].get("momentum_buffer") if momentum != 0 else None for param in params]
            sgd(
                params,
                grads,
                buffers,
                weight_decay=group["weight_decay"],
                momentum=momentum,
                lr=group["lr"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
                foreach=group["foreach"],
                fused=group["fused"],
            )
            if momentum != 0:
                for param, buffer in zip(params, buffers, strict=True):
                    self.state[param]["momentum_buffer"] = buffer
        return loss


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Update `params` in place; a missing (None) momentum buffer is put into its list."""
    _check_no_grad_scale(grad_scale, found_inf)
    _update(
        params,
        d_p_list,
        momentum_buffer_list,
        weight_decay=weight_decay,
        momentum=momentum,
        lr=_to_scalar(lr),
        dampening=dampening,
        nesterov=nesterov,
        maximize=maximize,
    )


def _update(params, grads, buffers, *, weight_decay, momentum, lr, dampening, nesterov, maximize) -> None:
    with Steps() as steps:
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            steps.before(param, grad)
            if maximize:
                grad = -grad
            if _tracked(weight_decay):
                grad = grad.addcmul(param.clone(), weight_decay)
            elif weight_decay != 0:
                grad = grad.add(param, alpha=_number(weight_decay))
            if momentum != 0:
                buffer = buffers[i]
                if buffer is None:
                    buffer = buffers[i] = grad.detach().clone()
                elif dampening == 0 and not nesterov and not _tracked(lr) and can_fuse((param,), (grad,), (buffer,)):
                    steps.momentum(param, grad, buffer, _number(lr), _number(momentum))
                    continue
                elif dampening == 0 and has_kernels("add_scaled", (grad,), (buffer,)):
                    momentum_on_device(buffer, grad, _number(momentum))
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            if _tracked(lr):
                param.addcmul_(grad, lr, value=-1)
            elif can_fuse((param,), (grad,)):
                steps.plain(param, grad, _number(lr))
            elif has_kernels("add_scaled", (param,), (grad,)):
                add_on_device(param, grad, -_number(lr))
            else:
                param.add_(grad, alpha=-_number(lr))
