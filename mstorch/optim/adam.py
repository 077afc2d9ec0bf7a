"""Adam, and AMSGrad."""

from __future__ import annotations

from typing import Any

from .._src.core.above import above
from .._src.ops.layers.optim import Steps, adamw_on_device, can_fuse, has_kernels
from .._tensor import Tensor
from ._forms import forms
from ._options import check_fused, check_options, require
from ._stepping import (
    Counter,
    Stepping,
    check_captured,
    check_counters,
    check_no_grad_scale,
    prepared,
    tracked,
    zeros,
)
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Adam", "adam"]


def _update(
    param: Tensor, grad: Tensor, count: Tensor, mean: Tensor, square: Tensor, largest: Tensor | None, beta1: Any, beta2: Tensor | float,
    lr: Tensor | float, eps: float, as_tensors: bool, differentiable: bool,
) -> None:  # fmt: skip
    """Update one parameter by its gradient. With ``as_tensors``, the step count and the bias corrections are computed as tensors, so that a
    graph or autograd tracks them."""
    mean_weight = 1 - beta1
    if isinstance(beta1, Tensor):
        mean_weight = 1 - beta1.to(device=param.device, dtype=param.dtype)
    mean.lerp_(grad, mean_weight)
    if differentiable and tracked(beta2):
        square.lerp_(grad.square(), 1 - beta2)
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))

    if as_tensors:
        # Counters and corrections stay tensors, so that a graph, or autograd, tracks them.
        step = count.clone() if differentiable else count
        correction1 = 1 - beta1**step
        root2 = (1 - beta2**step).sqrt()
        scale = (lr / correction1).neg()
        if largest is not None:
            largest.copy_((largest.clone() if differentiable else largest).maximum(square))
            square = largest
        denominator = (square.sqrt() / (root2 * scale)).add_(eps / scale)
        param.addcdiv_(mean.clone() if differentiable else mean, denominator)
    else:
        taken = count.item()
        correction1 = 1 - beta1**taken
        root2 = (1 - beta2**taken) ** 0.5
        if largest is not None:
            above.torch.maximum(largest, square, out=largest)
            square = largest
        denominator = (square.sqrt() / root2).add_(eps)
        param.addcdiv_(mean, denominator, value=_get_value(-(lr / correction1)))


def adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
    fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
    decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor,
    weight_decay: float, eps: float, maximize: bool,
) -> None:
    """Update `params`, the moments and the step counters in place."""
    check_counters(state_steps)
    check_no_grad_scale(grad_scale, found_inf)
    plain = not (amsgrad or capturable or differentiable or isinstance(beta1, Tensor) or isinstance(beta2, Tensor))
    if plain and has_kernels("adamw_step", params, grads, exp_avgs, exp_avg_sqs):
        decay, penalty = (weight_decay, 0) if decoupled_weight_decay else (0, weight_decay)
        for state in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
            adamw_on_device(*state, _get_value(lr), _get_value(beta1), _get_value(beta2), decay, penalty, eps, maximize)
        return
    if plain and (weight_decay == 0 or decoupled_weight_decay) and can_fuse(params, grads, exp_avgs, exp_avg_sqs):
        numbers: tuple[Any, ...] = _get_value(lr), beta1, beta2, eps, weight_decay, maximize
        with Steps(params, grads, exp_avgs, exp_avg_sqs) as steps:
            steps.adam(params, grads, exp_avgs, exp_avg_sqs, state_steps, *numbers)
        return
    if capturable:
        check_captured(params, state_steps)
    lr, beta1, beta2 = _to_scalar(lr), _to_scalar(beta1), _to_scalar(beta2)
    for param, grad, count, mean, square, largest in prepared(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs if amsgrad else [None] * len(params),
        steps=state_steps,
        maximize=maximize,
        weight_decay=weight_decay if differentiable or decoupled_weight_decay else _get_value(weight_decay),
        decoupled_lr=lr if decoupled_weight_decay else None,
    ):
        _update(param, grad, count, mean, square, largest, beta1, beta2, lr, eps, capturable or differentiable, differentiable)


def _check_group(group, states) -> None:
    if group["differentiable"] and any(state["step"].requires_grad for state in states):
        raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
    if states and group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
        raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")


@Stepping(
    adam,
    elementwise=True,
    state={"step": Counter(), "exp_avg": zeros, "exp_avg_sq": zeros, "max_exp_avg_sq": zeros},
    lists={
        "exp_avgs": "exp_avg",
        "exp_avg_sqs": "exp_avg_sq",
        "max_exp_avg_sqs": "max_exp_avg_sq",
        "state_steps": "step",
    },
    only_with={"max_exp_avg_sq": "amsgrad"},
    split={"betas": ("beta1", "beta2")},
    later={
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    },
    advice=", please consider SparseAdam instead",
    check=_check_group,
)
class Adam(Optimizer):
    """Adam; with ``amsgrad`` the second moment never decreases, with ``decoupled_weight_decay`` it is AdamW.

    Kingma and Ba, arXiv:1412.6980; Reddi et al., "On the Convergence of Adam and Beyond", 2018. Raises ValueError for options out of range.
    """

    def __init__(
        self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:
        tensors_need_capture = foreach and not capturable
        if isinstance(lr, Tensor) and tensors_need_capture:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        if not any(all(isinstance(beta, kind) for beta in betas[:2]) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if tensors_need_capture:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                require(beta.numel() == 1, f"Tensor betas[{i}] must be 1-element")
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
        check_fused(fused, foreach, differentiable)


_single_tensor_adam, _multi_tensor_adam, _fused_adam = forms(
    adam, "amsgrad has_complex beta1 beta2 lr weight_decay eps maximize capturable differentiable decoupled_weight_decay", scaled=True
)
