"""Adafactor: the second moment is factored into a row and a column."""

from __future__ import annotations

from .._src.core.dtype import finfo
from .._tensor import Tensor
from ._forms import forms
from ._options import check_lr, refuse_spread, require
from ._stepping import Counter, Stepping, prepared, zeros_like
from .optimizer import Optimizer, ParamsT, _get_value, _to_scalar

__all__ = ["Adafactor", "adafactor"]


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """Update ``params``, the variances and the step counters in place."""
    if not all(isinstance(step, Tensor) for step in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = _to_scalar(lr)
    for param, grad, counter, rows, columns, variance in prepared(
        params, grads, row_vars, col_vars, variances, steps=state_steps, maximize=maximize
    ):
        if eps1 is None:
            # As in torch, the first parameter's dtype decides for all of the group.
            eps1 = finfo(param.dtype).eps
        step = counter.item()
        weight = step**beta2_decay
        scale = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)

        if grad.dim() > 1:
            if rows is None or columns is None:
                raise AssertionError("row_var and col_var should be defined when grad is multidimensional")
            of_rows, of_columns = _mean_squares(grad)
            rows.lerp_(of_rows, weight)
            columns.lerp_(of_columns, weight)
            variance = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        elif variance is None:
            raise AssertionError("variance should be defined when grad is a vector")
        else:
            variance.lerp_(grad * grad, weight)
        update = variance.clamp(min=eps1 * eps1).rsqrt_().mul_(grad)
        norm = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * d))
        param.add_(update, alpha=_get_value(-scale / norm))


def _rms(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5


def _mean_squares(grad: Tensor) -> list[Tensor]:
    """Return the mean squares of rows and of columns; in half precision by norms, because squares of small numbers underflow."""
    if grad.element_size() < 4:
        return [grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim)) for dim in (-1, -2)]
    squares = grad * grad
    return [squares.mean(dim, keepdim=True) for dim in (-1, -2)]


def _row_var(param, group, optimizer):
    grad = param.grad
    return grad.new_zeros([*grad.shape[:-1], 1]) if grad.dim() > 1 else None


def _col_var(param, group, optimizer):
    grad = param.grad
    return grad.new_zeros([*grad.shape[:-2], 1, grad.shape[-1]]) if grad.dim() > 1 else None


def _variance(param, group, optimizer):
    return None if param.grad.dim() > 1 else zeros_like(param.grad)


@Stepping(
    adafactor,
    state={"step": Counter(), "row_var": _row_var, "col_var": _col_var, "variance": _variance},
    lists={"row_vars": "row_var", "col_vars": "col_var", "variances": "variance", "state_steps": "step"},
    gaps=True,
    split={"eps": ("eps1", "eps2")},
    later={"foreach": None},
    takes_complex=False,
)
class Adafactor(Optimizer):
    """Adam without a first moment, whose second moment is factored into a row and a column per matrix.

    Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", arXiv:1804.04235; ``lr`` is the largest step size,
    ``eps[0]`` defaults to the dtype's eps. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        refuse_spread(self)


_single_tensor_adafactor, _multi_tensor_adafactor, *_ = forms(
    adafactor, "d lr beta2_decay weight_decay eps1 eps2 maximize has_complex", scaled=True
)
