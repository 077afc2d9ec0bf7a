"""Resilient backpropagation."""

from __future__ import annotations

from .._src.core.above import above
from .._tensor import Tensor
from ._forms import forms
from ._options import check_options, require
from ._stepping import LATER, Counter, Stepping, check_captured, check_counters, prepared, zeros
from .optimizer import Optimizer, ParamsT, _get_value

__all__ = ["Rprop", "rprop"]


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Update ``params``, the previous gradients, the step sizes and the step counters in place."""
    check_counters(state_steps)
    if capturable:
        check_captured(params, state_steps)
    for param, grad, _, last, size in prepared(params, grads, prevs, step_sizes, steps=state_steps, maximize=maximize):
        product = grad.mul(last.clone() if differentiable else last)
        turned = product.lt(0)
        # NaN, such as infinity times an initial gradient of zero, leaves the step size unchanged.
        sign = product.sign()
        factor = sign.masked_fill(sign.eq(0), 1).masked_fill(product.gt(0), etaplus).masked_fill(turned, etaminus)
        size.mul_(factor).clamp_(step_size_min, step_size_max)
        # An element whose gradient changed its sign is not updated in this step, and the next step compares with zero.
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        last.copy_(grad)


def _first_size(param, group, optimizer):
    lr = _get_value(group["lr"])
    return above.torch.full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)


@Stepping(
    rprop,
    elementwise=True,
    state={"step": Counter(), "prev": zeros, "step_size": _first_size},
    lists={"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
    split={"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")},
    later=LATER,
)
class Rprop(Optimizer):
    """Moves each element by its own step size, multiplied by etas[1] while the gradient keeps its sign, by etas[0] when it changes.

    Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993. ``step_sizes`` bounds
    the steps. Raises ValueError unless 0 < etas[0] < 1 < etas[1].
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)


_single_tensor_rprop, _multi_tensor_rprop, *_ = forms(
    rprop, "step_size_min step_size_max etaminus etaplus maximize capturable differentiable has_complex"
)
