"""Adam, and AMSGrad."""

from __future__ import annotations

from .._ops.optim import Steps, adamw_on_device, can_fuse, has_kernels, increment
from .._tensor import Tensor
from .optimizer import (
    Optimizer,
    _as_real,
    _check_betas,
    _check_capturable,
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
    _tracked,
    _use_grad_for_differentiable,
    _with_grad,
    zeros_like,
)

__all__ = ["Adam", "adam"]


class Adam(Optimizer):
    """Adam; with `amsgrad` the second moment never falls, with `decoupled_weight_decay` it is AdamW.

    Kingma and Ba, arXiv:1412.6980; Reddi et al., "On the Convergence of Adam and Beyond", 2018. Raises ValueError for
    options out of range.
    """

    def __init__(
        self,
        params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        tensors_need_capture = foreach and not capturable
        if isinstance(lr, Tensor) and tensors_need_capture:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        _check_lr(lr)
        _require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        _require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        if not any(all(isinstance(beta, kind) for beta in betas[:2]) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if tensors_need_capture:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                _require(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr,
            "betas": tuple(_to_scalar(beta) for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        _check_fused(fused, foreach, differentiable)

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        _set_missing(
            self,
            amsgrad=False,
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
            fused=None,
        )
        _restore_counters(self)

    def _state_of(self, param: Tensor, group: dict) -> dict:
        state = self.state[param]
        if not state:
            fused = group["fused"]
            if fused:
                _check_fused_param(param)
            state["step"] = _new_counter(param, group["capturable"] or fused, fused=fused)
            state["exp_avg"] = zeros_like(param)
            state["exp_avg_sq"] = zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(param)
        if group["differentiable"] and state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        return state

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Update the parameters once; returns what `closure` returns."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            params, grads = _with_grad(
                group, "Adam does not support sparse gradients, please consider SparseAdam instead"
            )
            states = [self._state_of(param, group) for param in params]
            beta1, beta2 = group["betas"]
            adam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
                [state["step"] for state in states],
                foreach=group["foreach"],
                capturable=group["capturable"],
                differentiable=group["differentiable"],
                fused=group["fused"],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                amsgrad=group["amsgrad"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Update `params`, the moments and the step counters in place."""
    _check_state_steps(state_steps)
    _check_no_grad_scale(grad_scale, found_inf)
    plain = not (amsgrad or capturable or differentiable or isinstance(beta1, Tensor) or isinstance(beta2, Tensor))
    if plain and has_kernels("adamw_step", params, grads, exp_avgs, exp_avg_sqs):
        decay, penalty = (weight_decay, 0) if decoupled_weight_decay else (0, weight_decay)
        for state in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
            adamw_on_device(*state, _number(lr), _number(beta1), _number(beta2), decay, penalty, eps, maximize)
        return
    if plain and (weight_decay == 0 or decoupled_weight_decay) and can_fuse(params, grads, exp_avgs, exp_avg_sqs):
        _fused(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1, beta2, _number(lr), weight_decay, eps, maximize)
        return
    _update(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        amsgrad=amsgrad,
        beta1=_to_scalar(beta1),
        beta2=_to_scalar(beta2),
        lr=_to_scalar(lr),
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
        capturable=capturable,
        differentiable=differentiable,
        decoupled_weight_decay=decoupled_weight_decay,
    )


def _fused(params, grads, exp_avgs, exp_avg_sqs, steps, beta1, beta2, lr, weight_decay, eps, maximize) -> None:
    with Steps() as updates:
        for param, grad, mean, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, steps, strict=True):
            updates.before(param, grad, mean, square)
            slope = -grad if maximize else grad
            updates.adam(param, slope, mean, square, increment(step), lr, beta1, beta2, eps, weight_decay)


def _update(
    params,
    grads,
    exp_avgs,
    exp_avg_sqs,
    max_exp_avg_sqs,
    state_steps,
    *,
    amsgrad,
    beta1,
    beta2,
    lr,
    weight_decay,
    eps,
    maximize,
    capturable,
    differentiable,
    decoupled_weight_decay,
) -> None:
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        mean, square = exp_avgs[i], exp_avg_sqs[i]
        largest = max_exp_avg_sqs[i] if amsgrad else None
        if capturable:
            _check_capturable(param, state_steps[i])
        state_steps[i].add_(1)

        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            elif differentiable and _tracked(weight_decay):
                grad = grad.addcmul(param.clone(), weight_decay)
            else:
                grad = grad.add(param, alpha=_number(weight_decay))
        if param.is_complex():
            param, grad, mean, square = _as_real(param, grad, mean, square)
            if largest is not None:
                (largest,) = _as_real(largest)

        mean_weight = 1 - beta1
        if isinstance(beta1, Tensor):
            mean_weight = 1 - beta1.to(device=param.device, dtype=param.dtype)
        mean.lerp_(grad, mean_weight)
        if differentiable and _tracked(beta2):
            square.lerp_(grad.square(), 1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=_number(1 - beta2))

        if capturable or differentiable:
            # Counters and corrections stay tensors, so that a graph, or autograd, sees them.
            step = state_steps[i].clone() if differentiable else state_steps[i]
            correction1 = 1 - beta1**step
            root2 = (1 - beta2**step).sqrt()
            scale = (lr / correction1).neg()
            if largest is not None:
                largest.copy_((largest.clone() if differentiable else largest).maximum(square))
                square = largest
            denominator = (square.sqrt() / (root2 * scale)).add_(eps / scale)
            param.addcdiv_(mean.clone() if differentiable else mean, denominator)
        else:
            step = state_steps[i].item()
            correction1 = 1 - beta1**step
            root2 = (1 - beta2**step) ** 0.5
            if largest is not None:
                largest.copy_(largest.maximum(square))
                square = largest
            denominator = (square.sqrt() / root2).add_(eps)
            param.addcdiv_(mean, denominator, value=_number(-(lr / correction1)))
