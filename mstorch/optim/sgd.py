"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from .._src.ops.layers.optim import Steps, can_fuse, has_kernels, momentum_on_device, momentum_step_on_device
from .._tensor import Tensor
from ._forms import forms
from ._options import check_fused, check_options, require
from ._stepping import Stepping, check_no_grad_scale, decayed, tracked
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["SGD", "sgd"]


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
    """Update ``params`` in place; where a momentum buffer is missing (None), it is created in its list."""
    check_no_grad_scale(grad_scale, found_inf)
    if fused and any(grad.is_sparse for grad in d_p_list):
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    rate = _to_scalar(lr)
    decays = tracked(weight_decay) or weight_decay != 0
    with Steps(params, d_p_list, momentum_buffer_list) as steps:
        for i, (param, grad) in enumerate(zip(params, d_p_list, strict=True)):
            if not steps.apart:
                steps.before(param, grad)
            if maximize:
                grad = -grad
            if decays:
                grad = decayed(grad, param, weight_decay)
            if momentum != 0:
                buffer = momentum_buffer_list[i]
                if buffer is None:
                    buffer = momentum_buffer_list[i] = grad.detach().clone()
                elif dampening == 0 and not nesterov and not tracked(rate) and can_fuse((param,), (grad,), (buffer,)):
                    steps.momentum(param, grad, buffer, _get_value(rate), _get_value(momentum))
                    continue
                elif dampening == 0 and not nesterov and has_kernels("momentum_step", (param,), (grad,), (buffer,)):
                    momentum_step_on_device(param, grad, buffer, _get_value(rate), _get_value(momentum))
                    continue
                elif dampening == 0 and has_kernels("add_scaled", (grad,), (buffer,)):
                    momentum_on_device(buffer, grad, _get_value(momentum))
                else:
                    buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            if tracked(rate):
                param.addcmul_(grad, rate, value=-1)
            elif can_fuse((param,), (grad,)):
                steps.plain(param, grad, _get_value(rate))
            else:
                param.add_(grad, alpha=-_get_value(rate))


@Stepping(
    sgd,
    elementwise=True,
    # The first step makes the buffer.
    state={"momentum_buffer": lambda param, group, optimizer: None},
    lists={"momentum_buffer_list": "momentum_buffer"},
    only_with={"momentum_buffer": "momentum"},
    gaps=True,
    later={"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False},
    takes_sparse=True,
)
class SGD(Optimizer):
    """Stochastic gradient descent; the momentum buffer starts as the first gradient, undamped.

    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013. Raises ValueError for
    negative options and for nesterov without momentum or with dampening.
    """

    def __init__(
        self,
        params: ParamsT,
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
        check_options(lr=lr, momentum=momentum, weight_decay=weight_decay)
        require(
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
        check_fused(fused, foreach, differentiable)


_single_tensor_sgd, _multi_tensor_sgd, _fused_sgd = forms(
    sgd, "weight_decay momentum lr dampening nesterov maximize has_sparse_grad", scaled=True
)
