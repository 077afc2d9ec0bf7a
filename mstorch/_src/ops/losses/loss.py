"""Regression losses."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ...backend.arrays import Array, within
from ...backend.errors import not_for
from ...backend.formulas import loss as formulas
from ...backend.host import loss as host
from ...backend.table import kernel
from ...core.dtype import bool_, float32, float64
from ...core.modes import grad_set_to
from ...core.one_device import OneDevice, found_two
from ...core.tangents import LEVELS, levels_of_all
from ...core.tensor_base import TensorBase, array_of, fresh, is_tracked
from ...core.warned import warn
from ...quiet import quiet
from ...tape.composite import record
from ...tape.saved_values import watch
from ...tape.ways import fused, ways
from ...tape.whole import followed, in_one_piece
from ...tape.whole import record as record_whole
from .._autocast import FLOAT32
from .._dispatch import broadcast_shape, call, check_result_cast, readable, refuse_dtype, result_dtype, type_word
from .._memory_order import in_order_of, kept_order
from .._named import node_called
from .._numbers import not_differentiable, refuse_tracked
from .._operation import operation
from ..elementwise.activation import logsigmoid
from ..elementwise.compare import where
from ..elementwise.elementwise import abs as abs_of
from ..elementwise.elementwise import add, div, mul, neg, square, sub
from ..elementwise.math import exp, log, log1p, xlogy
from ..memory.copying import to_dtype
from ..memory.creation import full as filled
from ..reduce.reduce import sum as sum_of
from ..shape import views
from . import _namespace as xp
from .loss_kernel import loss_by_kernel
from .loss_reduction import chosen, reduced

PUBLIC_IN = "nn.functional"

_bce = kernel("binary_cross_entropy")


def size_text(tensor: TensorBase) -> str:
    """Return a tensor's size as torch writes it in messages."""
    return f"torch.Size({list(tensor._ms_shape)})"


def warn_of_broadcast(input: TensorBase, target: TensorBase) -> None:
    """Warn as torch does if input and target have different sizes."""
    if input._ms_shape != target._ms_shape:
        warn(
            f"Using a target size ({size_text(target)}) that is different to the input size ({size_text(input)}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        )


def _broadcast_first(input: TensorBase, target: TensorBase) -> tuple[TensorBase, TensorBase]:
    """Return input and target; a 0-d one of another dtype is expanded to the other's shape, so that it has full weight in type promotion,
    as in torch. Warn if the shapes differ."""
    warn_of_broadcast(input, target)
    if input._ms_dtype is not target._ms_dtype and bool(input._ms_shape) is not bool(target._ms_shape):
        shape = input._ms_shape or target._ms_shape
        return views.expand(input, shape), views.expand(target, shape)
    return input, target


def _refuse(name: str, input: TensorBase, target: TensorBase, weight: TensorBase | None = None) -> None:
    """Raise torch's error if the dtypes promote to bool or an integer dtype, or to a complex one without a ``weight``."""
    kind = result_dtype((input, target))
    refuse_dtype(name, kind, below=2)
    if kind.is_complex and weight is None:
        raise not_for(name, kind.name)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two))
def mse_loss(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return ``(input - target) ** 2``, reduced."""
    input, target = _broadcast_first(input, target)
    reduction = chosen(reduction, size_average, reduce)
    _refuse("mse_cpu", input, target, weight)
    if weight is None:
        return _difference_loss(_MSE, input, target, reduction)
    return weighted(_squares(input, target), input, weight, reduction)


def _squares(input: TensorBase, target: TensorBase) -> TensorBase:
    return in_order_of(square(_difference(input, target)), input, target)


class _Difference(NamedTuple):
    """A loss of ``input - target``.

    ``losses(input, target, *rest)`` returns the unreduced losses; ``slope(difference, gradient, share, *rest)`` returns the gradient, where
    ``share`` is the factor of each loss in the result (1, or 1 / n for the mean). ``of_array(difference, *rest)`` and ``array_slope`` do
    the same for arrays, if both tensors are in host memory and have one shape. ``op`` names the kernel of devices."""

    label: str
    op: str
    losses: Callable[..., Any]
    slope: Callable[..., Any]
    of_array: Callable[..., Any]
    array_slope: Callable[..., Any]


def _difference_loss(of: _Difference, input: TensorBase, target: TensorBase, reduction: str, *rest: Any) -> TensorBase:
    """Return the losses of ``input - target``, reduced, as a single autograd node that saves input and target, as in torch."""
    refuse_tracked(*rest)
    if input._ms_shape == target._ms_shape and input._ms_stride is target._ms_stride is None and _fits_arrays(input, target):
        return _difference_loss_of_arrays(of, input, target, reduction, rest)
    if not LEVELS and input._ms_shape == target._ms_shape:

        def recorded(g: TensorBase, *inputs: Any) -> list[TensorBase | None]:
            return _slopes_between((g,), (), inputs, of.slope, reduction == "mean", *rest)

        found = loss_by_kernel(of.op, of.label, input, target, (reduction, *rest), recorded, True)
        if found is not None:
            return found
    if not followed((input, target)) or LEVELS and levels_of_all((input, target)):  # tangents go through the parts
        return reduced(of.losses(input, target, *rest), reduction)
    with grad_set_to(False):
        found = reduced(of.losses(input.detach(), target.detach(), *rest), reduction)
    return record(of.label, _slopes_between, (input, target), (found,), of.slope, reduction == "mean", *rest, needed=())[0]


def _fits_arrays(input: TensorBase, target: TensorBase) -> bool:
    return input._ms_dtype is target._ms_dtype and input._ms_dtype in (float32, float64) and in_one_piece((input, target))


def _difference_loss_of_arrays(
    of: _Difference, input: TensorBase, target: TensorBase, reduction: str, rest: tuple[Any, ...]
) -> TensorBase:  # fmt: skip
    with quiet(), grad_set_to(False):
        found = reduced(fresh(np.asarray(of.of_array(array_of(input) - array_of(target), *rest))), reduction)
    if not followed((input, target)):
        return found
    needed, share = (is_tracked(input), is_tracked(target)), 1 / max(math.prod(input._ms_shape), 1) if reduction == "mean" else 1.0

    def slopes(g: Array, x: Array, y: Array) -> list[Any]:
        with quiet():
            parts = (x - y if needed[0] else None, y - x if needed[1] else None)
            return [None if part is None else np.asarray(of.array_slope(part, g, share, *rest)) for part in parts]

    def recorded(g: TensorBase, *inputs: Any) -> list[TensorBase | None]:
        return _slopes_between((g,), (), inputs, of.slope, reduction == "mean", *rest)

    return record_whole(found, (input, target), of.label, slopes, recorded, direct=True)


def _slopes_between(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], slope: Callable[..., Any], mean: bool, *rest: Any
) -> list[TensorBase | None]:
    (g,), (x, y) = gradients, inputs
    shape = broadcast_shape(x._ms_shape, y._ms_shape)
    share = 1 / max(math.prod(shape), 1) if mean else 1.0
    return [
        to_dtype(slope(_difference(own, other), g, share, *rest), own._ms_dtype) if is_tracked(own) else None
        for own, other in ((x, y), (y, x))
    ]


def _difference(input: TensorBase, target: TensorBase) -> TensorBase:
    """Return ``input - target``, also for bool."""
    kind = result_dtype((input, target))
    return sub(*(to_dtype(item, kind) if item._ms_dtype is bool_ else item for item in (input, target)))


def weighted(loss: TensorBase, input: TensorBase, weight: TensorBase | None, reduction: str) -> TensorBase:
    """Return each element's loss times its weight, reduced; the mean is the weighted mean."""
    if weight is None:
        return reduced(loss, reduction)
    if weight._ms_shape != input._ms_shape:
        raise ValueError("Weights and input must have the same size.")
    loss = mul(loss, weight)
    if reduction == "mean":
        return div(sum_of(loss), sum_of(weight))
    return reduced(loss, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two))
def l1_loss(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return ``|input - target|``, reduced."""
    input, target = _broadcast_first(input, target)
    reduction = chosen(reduction, size_average, reduce)
    return weighted(abs_of(sub(input, target)), input, weight, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two))
def smooth_l1_loss(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    beta: float = 1.0,
) -> TensorBase:  # fmt: skip
    """Return ``d ** 2 / (2 * beta)`` where ``d = |input - target|`` is below beta, else ``d - beta / 2``, reduced."""
    input, target = _broadcast_first(input, target)
    reduction = chosen(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(abs_of(_difference(input, target)), reduction)
    _refuse("smooth_l1_cpu", input, target)
    return _difference_loss(_SMOOTH, input, target, reduction, beta)


def _smooth(input: TensorBase, target: TensorBase, beta: float) -> TensorBase:
    return in_order_of(formulas.smooth(xp, _difference(input, target), beta), input, target)


@operation(autocast=FLOAT32, one_device=OneDevice("_huber_loss"))
def huber_loss(
    input: TensorBase, target: TensorBase, reduction: str = "mean", delta: float = 1.0, weight: TensorBase | None = None
) -> TensorBase:
    """Return ``d ** 2 / 2`` where ``d = |input - target|`` is at most delta, else ``delta * (d - delta / 2)``, reduced."""
    input, target = _broadcast_first(input, target)
    reduction = chosen(reduction, None, None)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = result_dtype((input, target))
    if kind.is_complex and weight is None:
        check_result_cast(kind, input._ms_dtype)
    _refuse("huber_cpu", input, target, weight)
    if weight is None:
        return _difference_loss(_HUBER, input, target, reduction, delta)
    return weighted(_huber(input, target, delta), input, weight, reduction)


def _huber(input: TensorBase, target: TensorBase, delta: float) -> TensorBase:
    loss = _in_dtype_of(input, formulas.huber(xp, _difference(input, target), delta))
    return kept_order(loss, input) if loss._ms_shape == input._ms_shape else loss


def _slope(gradient: Callable[..., Any]) -> Callable[..., Any]:
    return lambda difference, g, share, *rest: gradient(xp, g, difference, share, *rest)


_MSE = _Difference("MseLossBackward0", "mse_loss", _squares, _slope(formulas.squares_gradient), host.squares, host.squares_slope)
_SMOOTH = _Difference("SmoothL1LossBackward0", "smooth_l1_loss", _smooth, _slope(formulas.smooth_gradient), host.smooth, host.smooth_slope)
_HUBER = _Difference("HuberLossBackward0", "huber_loss", _huber, _slope(formulas.huber_gradient), host.huber, host.huber_slope)


def _in_dtype_of(input: TensorBase, loss: TensorBase) -> TensorBase:
    """Return a loss cast to the input's dtype, whatever the target's is."""
    if loss._ms_dtype is input._ms_dtype:
        return loss
    check_result_cast(loss._ms_dtype, input._ms_dtype)
    return to_dtype(loss, input._ms_dtype)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two))
@node_called("BinaryCrossEntropyBackward0")
def binary_cross_entropy(
    input: TensorBase, target: TensorBase, weight: TensorBase | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``-(t * log(x) + (1 - t) * log(1 - x))`` for probabilities, reduced; logarithms are clamped to at least -100."""
    reduction = chosen(reduction, size_average, reduce)
    if input._ms_shape != target._ms_shape:
        raise ValueError(
            f"Using a target size ({size_text(target)}) that is different to the input size ({size_text(input)}) is deprecated. "
            "Please ensure they have the same size."
        )
    if input._ms_dtype is not target._ms_dtype:
        raise RuntimeError(f"Found dtype {type_word(target._ms_dtype)} but expected {type_word(input._ms_dtype)}")
    if input._ms_dtype.is_complex:
        raise not_for("binary_cross_entropy", input._ms_dtype.name)
    values = readable(input if input._ms_dtype.itemsize != 2 else input.detach().float())
    if values is not None and not within(values, 0, 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    values = readable(target if target._ms_dtype.itemsize != 2 else target.detach().float())
    if values is not None and not within(values, 0, 1):
        raise RuntimeError("all elements of target should be between 0 and 1")
    not_differentiable("binary_cross_entropy", weight=weight)
    inner = reduction if weight is None else "none"
    found = None if is_tracked(target) else loss_by_kernel(
        "bce_loss", "BinaryCrossEntropyBackward0", input, target, (inner,), lambda x, y: reduced(call(_bce, (x, y)), inner)
    )
    if found is not None and weight is None:
        return found
    loss = found if found is not None else call(_bce, (input, target)) if math.prod(input._ms_shape) else mul(input, target)
    if weight is not None:
        loss = mul(loss, views.expand(weight, broadcast_shape(target._ms_shape, weight._ms_shape)))
        check_result_cast(loss._ms_dtype, input._ms_dtype)
        loss = to_dtype(loss, input._ms_dtype)
    return reduced(loss, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two, numbers=("input",)))
def binary_cross_entropy_with_logits(
    input: TensorBase, target: TensorBase, weight: TensorBase | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", pos_weight: TensorBase | None = None,
) -> TensorBase:  # fmt: skip
    """Return the binary cross entropy of ``sigmoid(x)``, computed without overflow."""
    reduction = chosen(reduction, size_average, reduce)
    if input._ms_shape != target._ms_shape:
        raise ValueError(f"Target size ({size_text(target)}) must be the same as input size ({size_text(input)})")
    return _of_logits(input, target, weight, reduction, pos_weight)


def _of_logits_in_graph(input: Any, target: Any, weight: Any, reduction: str, pos_weight: Any) -> Any:
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = mul(add(mul(sub(pos_weight, 1), target), 1), logs)
    loss = kept_order(sub(mul(sub(1, target), input), logs), input)
    return reduced(loss if weight is None else mul(loss, weight), reduction)


def _of_logits_by_kernel(input: TensorBase, target: TensorBase, weight: Any, reduction: str, pos_weight: Any) -> TensorBase | None:
    kind, shape = input._ms_dtype, input._ms_shape
    given = [item for item in (weight, pos_weight) if item is not None]
    if any(item._ms_dtype is not kind or broadcast_shape(shape, item._ms_shape) != shape for item in given):
        return None
    if is_tracked(target) or not fused("bce_logits_loss", kind, *given):
        return None
    wide = [None if item is None else views.expand(item, shape) for item in (weight, pos_weight)]

    def recorded(g: TensorBase, x: TensorBase, y: TensorBase) -> list[TensorBase | None]:
        return [_logits_slopes((g,), (), (x, y), weight, pos_weight, reduction == "mean")[0], None]

    return loss_by_kernel("bce_logits_loss", "BinaryCrossEntropyWithLogitsBackward0", input, target, (reduction, *wide), recorded, True)


@ways(captured=_of_logits_in_graph)
def _of_logits(
    input: TensorBase, target: TensorBase, weight: TensorBase | None, reduction: str, pos_weight: TensorBase | None
) -> TensorBase:
    not_differentiable("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if (found := _of_logits_by_kernel(input, target, weight, reduction, pos_weight)) is not None:
        return watch(found, weight, pos_weight)
    x, y = input.detach(), target.detach()
    with grad_set_to(False):
        logs = logsigmoid(x)
        if pos_weight is not None:
            logs.mul_(add(mul(sub(pos_weight, 1), y), 1))
        loss = kept_order(sub(1, y), y).mul_(x).sub_(logs)  # in place, as in torch: the loss has the target's dtype
        if weight is not None:
            loss.mul_(weight)
        total = reduced(loss, reduction)
        total = total.clone() if total._ms_counter.version else total  # a new result counts no writes
    rest = weight, pos_weight, reduction == "mean"
    (found,) = record("BinaryCrossEntropyWithLogitsBackward0", _logits_slopes, (input, target), (total,), *rest, needed=())
    return watch(found, weight, pos_weight)


def _logits_slopes(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], weight: TensorBase | None, pos_weight: Any,
    mean: bool,
) -> list[TensorBase]:
    """Return the gradients of ``binary_cross_entropy_with_logits`` for input and target, in a form without cancellation."""
    (g,), (x, y) = gradients, inputs
    if pos_weight is None:
        slopes = [sub(x.sigmoid(), y).mul_(g), x.mul(neg(g))]
    else:
        t = pos_weight.mul(y)
        slopes = [add(t, 1).sub_(y).mul_(x.sigmoid()).sub_(t).mul_(g), mul(sub(logsigmoid(neg(x)), mul(pos_weight, logsigmoid(x))), g)]
    for slope in slopes:
        if weight is not None:
            slope.mul_(weight)
        if mean:
            slope.div_(math.prod(x._ms_shape))
    return [to_dtype(slope, item._ms_dtype) for slope, item in zip(slopes, inputs)]


@operation(autocast=FLOAT32)
def kl_div(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    log_target: bool = False,
) -> TensorBase:  # fmt: skip
    """Return ``target * (log(target) - input)``, reduced; with ``log_target`` the target is given as its logarithm."""
    if input._ms_dtype.is_integral or target._ms_dtype.is_integral:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if input._ms_dtype.is_complex or target._ms_dtype.is_complex:
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if size_average is not None or reduce is not None:
        reduction = chosen(reduction, size_average, reduce)
    elif reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
        )
    batch = reduction == "batchmean"
    reduction = "sum" if batch else chosen(reduction, None, None)
    if log_target:
        loss = mul(exp(target), sub(target, input))
    else:
        loss = sub(xlogy(target, target), mul(target, input))
    result = reduced(loss, reduction)
    return div(result, input._ms_shape[0]) if batch and input._ms_shape else result


@operation(autocast=FLOAT32)
def poisson_nll_loss(
    input: TensorBase, target: TensorBase, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-08, reduce: bool | None = None, reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return ``exp(x) - t * x``, or with ``log_input=False`` ``x - t * log(x + eps)``, reduced; ``full`` adds Stirling's term."""
    refuse_tracked(eps)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    reduction = chosen(reduction, size_average, reduce)
    if log_input:
        loss = sub(exp(input), mul(target, input))
    else:
        loss = sub(input, mul(target, log(add(input, eps))))
    if full:
        term = add(sub(mul(target, log(target)), target), mul(log(mul(target, 2 * math.pi)), 0.5))
        loss = add(loss, where(target <= 1, 0.0, term))
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: TensorBase, target: TensorBase, var: TensorBase | float, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> TensorBase:
    """Return ``(log(var) + (x - t) ** 2 / var) / 2``, reduced; the variance is clamped to at least ``eps``."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = mul(filled((), 1.0, dtype=input._ms_dtype), var) if not input._ms_shape else filled(
            input._ms_shape, float(var), dtype=input._ms_dtype
        )
    elif (variances := readable(var.detach().float() if var._ms_dtype.itemsize == 2 else var)) is not None and (variances < 0).any():
        raise ValueError("var has negative entry/entries")
    x, v = input._ms_shape, cast("TensorBase", var)._ms_shape
    if v != x:
        if x[:-1] == v:
            var = views.unsqueeze(var, -1)
        elif not (x[:-1] == v[:-1] and v and v[-1] == 1) and not (
            len(x) == len(v) and sum(1 for a, b in zip(x, v) if a != b) == 1 and all(a == b or b == 1 for a, b in zip(x, v))
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # Only the value is clamped; the gradient ignores the clamp.
    given = views.detach(var)
    var = add(var, where(given < eps, sub(eps, given), 0.0))
    loss = mul(add(log(var), div(square(sub(input, target)), var)), 0.5)
    if full:
        loss = add(loss, 0.5 * math.log(2 * math.pi))
    return reduced(loss, reduction)


@operation(autocast=FLOAT32, one_device=OneDevice(words=found_two, numbers=("target",)))
@node_called("SoftMarginLossBackward0", "input target")
def soft_margin_loss(
    input: TensorBase, target: TensorBase, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> TensorBase:
    """Return ``log(1 + exp(-target * input))``, reduced; infinite where the exponential overflows."""
    reduction = chosen(reduction, size_average, reduce)
    not_differentiable("soft_margin_loss", target=target)
    in_parts = lambda x, y: reduced(log1p(exp(mul(x, neg(y)))), reduction)
    by_kernel = loss_by_kernel("soft_margin_loss", "SoftMarginLossBackward0", input, target, (reduction,), in_parts)
    if by_kernel is not None:
        return by_kernel
    found = log1p(_in_dtype_of(input, exp(mul(input, neg(_in_dtype_of(input, target))))))
    return reduced(in_order_of(found, input) if found._ms_shape == input._ms_shape else found, reduction)


def multilabel_soft_margin_loss(
    input: TensorBase, target: TensorBase, weight: TensorBase | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> TensorBase:  # fmt: skip
    """Return the binary cross entropy of each class, averaged over classes (the last dimension), reduced."""
    reduction = chosen(reduction, size_average, reduce)
    loss = neg(add(mul(target, logsigmoid(input)), mul(sub(1, target), logsigmoid(neg(input)))))
    if weight is not None:
        loss = mul(loss, weight)
    return reduced(div(sum_of(loss, -1), input._ms_shape[-1]), reduction)
