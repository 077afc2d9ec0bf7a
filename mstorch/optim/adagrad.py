"""Adagrad."""

from __future__ import annotations

from .._src.core.above import above
from .._src.sparse.base import like
from .._tensor import Tensor
from ._forms import forms
from ._options import check_fused, check_options
from ._stepping import Counter, Start, Stepping, begin, check_counters, check_no_grad_scale, prepared, with_eps
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Adagrad", "adagrad"]


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
    """Update ``params``, the sums of squares and the step counters in place."""
    check_counters(state_steps)
    check_no_grad_scale(grad_scale, found_inf)
    if any(grad.is_sparse for grad in grads):
        if fused:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if weight_decay != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    lr = _to_scalar(lr)
    for param, grad, step, total in prepared(
        params, grads, state_sums, steps=state_steps, maximize=maximize, weight_decay=weight_decay
    ):
        rate = _get_value(lr / (1 + (step.item() - 1) * lr_decay))
        if grad.is_sparse:
            _update_rows(param, grad.coalesce(), total, rate, eps)
            continue
        total.addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, with_eps(total.sqrt(), eps, differentiable), value=-rate)


def _update_rows(param, grad, total, rate, eps) -> None:
    values = grad.values()
    total.add_(like(grad, values.pow(2)))
    scale = total.sparse_mask(grad).values().sqrt().add(eps)
    param.add_(like(grad, values / scale), alpha=-rate)


def _first_sum(param, group, optimizer):
    # As in torch, the default is used, not the group's value.
    start = optimizer.defaults["initial_accumulator_value"]
    return above.torch.full_like(param, complex(start, start) if param.is_complex() else start)


_STATE: dict[str, Start] = {"step": Counter(), "sum": _first_sum}


@Stepping(
    adagrad,
    elementwise=True,
    state=_STATE,
    lists={"state_sums": "sum", "state_steps": "step"},
    later={"foreach": None, "maximize": False, "differentiable": False, "fused": None},
    takes_sparse=True,
)
class Adagrad(Optimizer):
    """Divides the gradient by the square root of the sum of all squared gradients so far.

    Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011. Raises ValueError for negative
    options, RuntimeError for weight decay of sparse gradients.
    """

    def __init__(
        self,
        params: ParamsT,
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
        check_options(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
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
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                begin(_STATE, param, group, self)

    def share_memory(self) -> None:
        """Move the sums of squares to shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()


_single_tensor_adagrad, _multi_tensor_adagrad, _fused_adagrad = forms(
    adagrad, "lr weight_decay lr_decay eps has_sparse_grad maximize differentiable has_complex", scaled=True
)
