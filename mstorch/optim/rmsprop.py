"""RMSprop."""

from __future__ import annotations

from .._tensor import Tensor
from ._forms import forms
from ._options import check_options
from ._stepping import LATER, Counter, Stepping, check_captured, check_counters, prepared, with_eps, zeros
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["RMSprop", "rmsprop"]


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
    check_counters(state_steps)
    if capturable:
        check_captured(params, state_steps)
    lr = _to_scalar(lr)
    nothing = [None] * len(params)
    means = grad_avgs if centered else nothing
    buffers = momentum_buffer_list if momentum > 0 else nothing
    for param, grad, _, square, mean, buffer in prepared(
        params, grads, square_avgs, means, buffers, steps=state_steps, maximize=maximize, weight_decay=weight_decay
    ):
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if mean is None:
            root = square.sqrt()
        else:
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        root = with_eps(root, eps, differentiable)
        if buffer is None:
            param.addcdiv_(grad, root, value=-_get_value(lr))
        else:
            buffer.mul_(momentum).addcdiv_(grad, root)
            param.add_(buffer, alpha=-_get_value(lr))


@Stepping(
    rmsprop,
    elementwise=True,
    state={"step": Counter(), "square_avg": zeros, "momentum_buffer": zeros, "grad_avg": zeros},
    lists={
        "square_avgs": "square_avg",
        "momentum_buffer_list": "momentum_buffer",
        "grad_avgs": "grad_avg",
        "state_steps": "step",
    },
    only_with={"momentum_buffer": "momentum", "grad_avg": "centered"},
    later={"momentum": 0, "centered": False} | LATER,
)
class RMSprop(Optimizer):
    """Divides the gradient by its running RMS; with ``centered``, by the running standard deviation.

    Hinton, lecture 6 of "Neural Networks for Machine Learning", 2012; centered: Graves, arXiv:1308.0850. The root is taken before eps is
    added. Raises ValueError for negative options.
    """

    def __init__(
        self,
        params: ParamsT,
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
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
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


_single_tensor_rmsprop, _multi_tensor_rmsprop, *_ = forms(
    rmsprop, "lr alpha eps weight_decay momentum centered maximize differentiable capturable has_complex"
)
