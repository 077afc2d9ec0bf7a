"""Adadelta."""

from __future__ import annotations

from .._tensor import Tensor
from ._forms import forms
from ._options import check_options, require
from ._stepping import LATER, Counter, Stepping, check_captured, check_counters, prepared, zeros
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Adadelta", "adadelta"]


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
    """Update ``params``, the two averages and the step counters in place."""
    check_counters(state_steps)
    if capturable:
        check_captured(params, state_steps, on_xla=False)
    lr = _to_scalar(lr)
    for param, grad, _, square, moved in prepared(
        params, grads, square_avgs, acc_deltas, steps=state_steps, maximize=maximize, weight_decay=weight_decay
    ):
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        move = moved.add(eps).sqrt_()
        if differentiable:
            move = move.clone()
        move.div_(root).mul_(grad)
        moved.mul_(rho).addcmul_(move, move, value=1 - rho)
        param.add_(move, alpha=-_get_value(lr))


@Stepping(
    adadelta,
    elementwise=True,
    state={"step": Counter(), "square_avg": zeros, "acc_delta": zeros},
    lists={"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
    later=LATER,
)
class Adadelta(Optimizer):
    """Scales the gradient by the ratio of the running RMS of past updates to that of past gradients.

    Zeiler, "ADADELTA: An Adaptive Learning Rate Method", arXiv:1212.5701. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: ParamsT,
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
        check_options(lr=lr)
        require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
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


_single_tensor_adadelta, _multi_tensor_adadelta, *_ = forms(
    adadelta, "lr rho eps weight_decay maximize differentiable capturable has_complex"
)
