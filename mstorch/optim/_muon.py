"""Muon: momentum that is orthogonalized."""

from __future__ import annotations

import math

from .._tensor import Tensor
from ._forms import forms
from ._options import check_lr, refuse_spread, require
from ._stepping import Stepping, zeros_like
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Muon", "muon"]


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """Update ``params`` and the momentum buffers in place."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    require(not has_complex, "Complex parameters are not supported")
    lr = _to_scalar(lr)
    for param, grad, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
        require(grad.ndim == 2, "Param gradient must be a 2D matrix")
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if nesterov else buffer
        update = _orthogonal(update, ns_coefficients, ns_steps, eps)
        rate = lr * _rate_factor(adjust_lr_fn, *param.shape)
        param.mul_(1 - lr * weight_decay)
        param.add_(update, alpha=-_get_value(rate))


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Return an approximately nearest orthogonal matrix, with singular values near 1, by a quintic Newton-Schulz iteration."""
    require(steps < 100, "Number of steps must be less than 100 for computational efficiency")
    require(len(coefficients) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    if tall:
        x = x.T
    # The iteration converges for spectral norms up to 1, and the Frobenius norm bounds the spectral norm.
    x = x.div(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = x.addmm(gram.addmm(gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _rate_factor(adjust_lr_fn: str | None, rows: int, columns: int) -> float:
    if adjust_lr_fn == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    if adjust_lr_fn == "spectral_unclamped":
        return math.sqrt(rows / columns)
    return math.sqrt(max(1, rows / columns))


@Stepping(
    muon,
    state={"momentum_buffer": lambda param, group, optimizer: zeros_like(param.grad)},
    lists={"muon_momentum_bufs": "momentum_buffer"},
    beside=True,
    takes_complex=False,
)
class Muon(Optimizer):
    """For matrices only: steps along the orthogonalized momentum, by Newton-Schulz iterations in bfloat16.

    Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024; ``adjust_lr_fn`` "match_rms_adamw": Liu et al.,
    arXiv:2502.16982; "spectral_unclamped" (torch 2.14): Bernstein, "Deriving Muon", 2025. Raises ValueError for options out of range and
    for parameters that are not 2-d.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        require(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        require(
            adjust_lr_fn in (None, "original", "match_rms_adamw", "spectral_unclamped"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        refuse_spread(self)
        for group in self.param_groups:
            for param in group["params"]:
                require(
                    param.ndim == 2,
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}",
                )


_single_tensor_muon, *_ = forms(muon, "lr weight_decay momentum nesterov ns_coefficients ns_steps eps adjust_lr_fn has_complex")
