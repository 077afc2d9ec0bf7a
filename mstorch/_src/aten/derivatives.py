"""Gradients of elementwise operators, reductions and views in terms of the ATen operators that torch's own backward calls, in its order.

A formula gets the node and the gradients of the results, and returns one gradient per tensor argument; broadcast dimensions are summed
afterwards (``calling``).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..core.tensor_base import TensorBase
from .calling import DERIVATIVES, Derived, NotInTerms, derivative
from .composites import aten

_NUMBER = (bool, int, float, complex)


def _is_tensor(value: object) -> bool:
    return isinstance(value, TensorBase)


def _conj(value: Any) -> Any:
    return value.conj() if _is_tensor(value) and value.dtype.is_complex else value


@derivative("add.Tensor", label="AddBackward0")
def _add(node: Derived, grad: Tensor) -> tuple[Tensor, Tensor]:
    alpha = node.options.get("alpha", 1)
    return grad, grad if alpha == 1 else grad * alpha


@derivative("sub.Tensor", label="SubBackward0")
def _sub(node: Derived, grad: Tensor) -> Any:
    alpha = node.options.get("alpha", 1)
    second = None
    from_number = isinstance(node.plan[0], _NUMBER)
    if from_number or len(node.shapes) == 2 and node.needs(1):
        second = grad.neg() if alpha == 1 else grad.neg() * alpha
    if from_number:
        return second
    return grad, second


derivative("rsub.Scalar", label="RsubBackward1")(lambda node, grad: grad.neg())
derivative("rsub.Tensor", label="RsubBackward0")(lambda node, grad: (grad.neg(), grad))
derivative("mul.Scalar", label="MulBackward1")(lambda node, grad: aten("mul.Scalar", grad, _conj(node.arg(1))))


def _reads_at(places: Callable[[Derived], set[int]]) -> Callable[[Any], Any]:
    """Declare the places of the tensors that a formula reads, which depend on the gradients that are needed."""

    def declare(formula: Any) -> Any:
        formula.places = places
        return formula

    return declare


def _other_factors(node: Derived) -> set[int]:
    return {1 - number for number, edge in enumerate(node.edges) if edge is not None} & set(range(len(node.shapes)))


def _of_a_quotient(node: Derived) -> set[int]:
    if isinstance(node.plan[1], _NUMBER):
        return set()
    divisor = len(node.shapes) - 1
    return set(range(len(node.shapes))) if node.edges[divisor] is not None else {divisor}


@derivative("mul.Tensor", label="MulBackward0")
@_reads_at(_other_factors)
def _mul(node: Derived, grad: Tensor) -> Any:
    if len(node.shapes) == 1:
        return grad * _conj(node.arg(1 if isinstance(node.plan[1], _NUMBER) else 0))
    second = grad * _conj(node.arg(0)) if node.needs(1) else None
    return grad * _conj(node.arg(1)) if node.needs(0) else None, second


@derivative("div.Tensor", "div.Scalar", label="DivBackward0")
@_reads_at(_of_a_quotient)
def _div(node: Derived, grad: Tensor) -> Any:
    divisor = _conj(node.arg(1))
    if isinstance(node.plan[0], _NUMBER):
        return grad.neg() * _conj((node.arg(0) / node.arg(1)) / node.arg(1))
    if len(node.shapes) == 1:
        return grad / divisor
    second = None
    if node.needs(1):
        slope = _conj((node.arg(0) / node.arg(1)) / node.arg(1))
        second = grad.neg() * slope
    return grad / divisor if node.needs(0) else None, second


def _unary(name: str, label: str, formula: Callable[..., Any]) -> None:
    derivative(f"{name}.default", label=label)(lambda node, grad: formula(node, grad))


def _reciprocal(node: Derived, grad: Tensor) -> Tensor:
    squared = _conj(node.result() * node.result())
    return grad.neg() * squared


_unary("neg", "NegBackward0", lambda node, grad: grad.neg())
_unary("exp", "ExpBackward0", lambda node, grad: grad * _conj(node.result()))
_unary("log", "LogBackward0", lambda node, grad: grad.div(_conj(node.arg(0))))
_unary("log2", "Log2Backward0", lambda node, grad: grad / (node.arg(0) * math.log(2)))
_unary("log1p", "Log1PBackward0", lambda node, grad: grad / (node.arg(0) + 1))
_unary("expm1", "Expm1Backward0", lambda node, grad: grad * (node.result() + 1))
_unary("sqrt", "SqrtBackward0", lambda node, grad: grad / aten("mul.Scalar", _conj(node.result()), 2))
_unary("rsqrt", "RsqrtBackward0", lambda node, grad: aten("mul.Scalar", node.result() ** 3, -0.5) * grad)
_unary("sin", "SinBackward0", lambda node, grad: grad * _conj(node.arg(0).cos()))
_unary("cos", "CosBackward0", lambda node, grad: grad * _conj(node.arg(0).sin()).neg())
_unary("abs", "AbsBackward0", lambda node, grad: grad * node.arg(0).sgn())
_unary("reciprocal", "ReciprocalBackward0", _reciprocal)
_unary("clone", "CloneBackward0", lambda node, grad: grad)
_unary("alias", "AliasBackward0", lambda node, grad: grad)
_unary("lift_fresh", "LiftFreshBackward0", lambda node, grad: grad)
_unary("erf", "ErfBackward0", lambda node, grad: 2 / math.sqrt(math.pi) * (node.arg(0) ** 2).neg().exp() * grad)
for _name, _label in (("floor", "Floor"), ("ceil", "Ceil"), ("round", "Round"), ("trunc", "Trunc"), ("sign", "Sign")):
    _unary(_name, f"{_label}Backward0", lambda node, grad: grad.new_zeros(grad.shape))


@derivative("pow.Tensor_Scalar", label="PowBackward0")
def _pow(node: Derived, grad: Tensor) -> Tensor:
    base, exponent = node.arg(0), node.arg(1)
    if exponent == 0:
        return base.new_zeros(base.shape)
    less = float(exponent) - 1 if not isinstance(exponent, complex) else exponent - 1
    return grad * aten("mul.Scalar", base**less, float(exponent) if not isinstance(exponent, complex) else exponent)


derivative("pow.Scalar", label="PowBackward2")(lambda node, grad: grad * aten("mul.Scalar", node.result(), math.log(node.arg(0))))


@derivative("pow.Tensor_Tensor", label="PowBackward1")
def _pow_tensor(node: Derived, grad: Tensor) -> Any:
    base, exponent = node.arg(0), node.arg(1)
    first = second = None
    if node.needs(1):
        known = exponent >= 0
        known = (base == 0).logical_and(known)
        logs = node.result() * base.log()
        second = grad * aten("where.self", known, _zero(grad), logs)
    if node.needs(0):
        slope = grad * (exponent * base ** aten("sub.Scalar", exponent, 1))
        zero = _zero(grad)
        first = aten("where.self", exponent == 0.0, zero, slope)
    return first, second


def _zero(grad: Tensor) -> Tensor:
    return aten("scalar_tensor", 0.0, dtype=grad.dtype, device=grad.device)


def _extremes(node: Derived, grad: Tensor, sign: str) -> Any:
    first, second = node.arg(0), node.arg(1)
    other = {"gt": "lt", "lt": "gt"}[sign]

    def part(word: str) -> Tensor:
        half = aten("div.Scalar", grad, 2)
        shared = aten("where.self", first == second, half, grad)
        return aten("masked_fill_.Scalar", shared, getattr(first, word)(second), 0)

    right = part(sign) if node.needs(1) else None
    return part(other) if node.needs(0) else None, right


derivative("maximum.default", label="MaximumBackward0")(lambda node, grad: _extremes(node, grad, "gt"))
derivative("minimum.default", label="MinimumBackward0")(lambda node, grad: _extremes(node, grad, "lt"))


@derivative("clamp.default", label="ClampBackward1")
def _clamp(node: Derived, grad: Tensor) -> Tensor:
    x, plan = node.arg(0), node.plan
    low = plan[1] if len(plan) > 1 else None
    high = plan[2] if len(plan) > 2 else None
    zero = _zero(grad)
    inside = None
    if low is not None:
        inside = x >= low
    if high is not None:
        inside = x <= high if inside is None else inside.logical_and_(x <= high)
    return grad if inside is None else aten("where.self", inside, grad, zero)


@derivative("where.self", label="WhereBackward0")
def _where(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    condition = node.arg(0)

    def zero() -> Tensor:
        return aten("scalar_tensor", 0, dtype=grad.dtype, device=grad.device)

    second = aten("where.self", condition, zero(), grad) if node.needs(2) else None
    return None, aten("where.self", condition, grad, zero()) if node.needs(1) else None, second


derivative("masked_fill.Scalar", label="MaskedFillBackward0")(lambda node, grad: (grad.masked_fill(node.arg(1), 0), None))


@derivative("addcmul.default", label="AddcmulBackward0")
def _addcmul(node: Derived, grad: Any) -> Any:
    value = node.options.get("value", 1)
    first = aten("mul.Scalar", node.arg(2), value) * grad if node.needs(1) else None
    return grad, first, aten("mul.Scalar", node.arg(1), value) * grad if node.needs(2) else None


@derivative("lerp.Scalar", label="LerpBackward0")
def _lerp(node: Derived, grad: Any) -> Any:
    weight = node.arg(2)
    return aten("mul.Scalar", grad, 1 - weight), aten("mul.Scalar", grad, weight)


derivative("_to_copy.default", label="ToCopyBackward0")(lambda node, grad: grad)
derivative("tril.default", label="TrilBackward0")(lambda node, grad: aten("tril", grad, *node.plan[1:]))
derivative("triu.default", label="TriuBackward0")(lambda node, grad: aten("triu", grad, *node.plan[1:]))
derivative("flip.default", label="FlipBackward0")(lambda node, grad: aten("flip", grad, node.plan[1]))
derivative("roll.default", label="RollBackward0")(
    lambda node, grad: aten("roll", grad, [-shift for shift in node.plan[1]], *node.plan[2:])
)


@derivative("cumsum.default", label="CumsumBackward0")
def _cumsum(node: Derived, grad: Tensor) -> Tensor:
    dim = node.plan[1]
    return aten("flip", aten("cumsum", aten("flip", grad, [dim]), dim), [dim])


# Reductions


def _with_dims(value: Tensor, rank: int, dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Return the result of a reduction, or its gradient, with the reduced dimensions restored as length 1; unchanged if ``keepdim``."""
    if dims is not None and not keepdim and rank:
        for dim in sorted(d % rank for d in dims) if len(dims) > 1 else dims:
            value = value.unsqueeze(dim)
    return value


def _spread(node: Derived, grad: Tensor) -> Any:
    """Expand the gradient of a reduction's result to the shape of the reduction's input."""
    shape = node.shapes[0]
    return aten("expand", _with_dims(grad, len(shape), node.option(1, None), node.option(2, False)), list(shape))


derivative("sum.default", label="SumBackward0")(_spread)
derivative("sum.dim_IntList", label="SumBackward1")(_spread)
derivative("mean.default", label="MeanBackward0")(lambda node, grad: aten("div.Scalar", _spread(node, grad), math.prod(node.shapes[0])))


@derivative("mean.dim", label="MeanBackward1")
def _mean_dims(node: Derived, grad: Tensor) -> Tensor:
    shape, dims = node.shapes[0], node.plan[1]
    wide = _spread(node, grad)
    return aten("div.Scalar", wide, math.prod(shape[d] for d in dims if shape) if dims else math.prod(shape))


def _moments(node: Derived, grad: Tensor) -> Tensor:
    x = node.arg(0)
    dims = node.option(1, None)
    correction = node.options.get("correction", 1)
    if dims is None:
        centre, count = x.mean(), math.prod(x.shape)
    else:
        grad = _with_dims(grad, len(x.shape), dims, node.options.get("keepdim", False))
        centre, count = x.mean(dims, True), math.prod(x.shape[d] for d in dims)
    gap = x - centre
    return aten("mul.Scalar", grad, 2.0 / (count - correction)) * gap


derivative("var.correction", label="VarBackward0")(_moments)


@derivative("std.correction", label="StdBackward0")
def _std(node: Derived, grad: Tensor) -> Tensor:
    result = node.result()
    scaled = grad / aten("mul.Scalar", result, 2)
    return _moments(node, aten("masked_fill_.Scalar", scaled, result == 0, 0))


@derivative("amax.default", "amin.default", label="AmaxBackward0")
def _amax(node: Derived, grad: Tensor) -> Tensor:
    return _shared(node, grad, node.option(1, []), node.option(2, False))


@derivative("max.default", "min.default", label="MaxBackward1")
def _max(node: Derived, grad: Tensor) -> Tensor:
    x, result = node.arg(0), node.result()
    unknown = x.isnan().logical_and(result.isnan())
    mask = (x == result).logical_or_(unknown)
    return mask * (grad / mask.sum())


def _shared(node: Derived, grad: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """Return the gradient of an extremum, shared equally by all elements equal to it."""
    x, result = node.arg(0), node.result()
    if dims and not keepdim:
        shape = [1 if i in [d % len(x.shape) for d in dims] else n for i, n in enumerate(x.shape)]
        result = result.view(shape)
    mask = result == x
    if dims and not keepdim:
        grad = grad.view(shape)
    return grad / (mask.sum(dims, True) if dims else mask.sum()) * mask


def _selected(node: Derived, grad: Tensor, dim: int, keepdim: bool) -> Tensor:
    indices = node.result(1)
    if not keepdim and node.shapes[0]:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return aten("scatter.src", grad.new_zeros(list(node.shapes[0])), dim, indices, grad)


derivative("max.dim", "min.dim", label="MaxBackward0")(
    lambda node, grad, _=None: _selected(node, grad, node.plan[1], node.option(2, False))
)
derivative("topk.default", label="TopkBackward0")(lambda node, grad, _=None: _selected(node, grad, node.option(2, -1), True))
derivative("sort.default", label="SortBackward0")(lambda node, grad, _=None: _selected(node, grad, node.option(1, -1), True))


@derivative("logsumexp.default", label="LogsumexpBackward0")
def _logsumexp(node: Derived, grad: Tensor) -> Tensor:
    x = node.arg(0)
    grad, result = (_with_dims(item, len(x.shape), node.plan[1], node.option(2, False)) for item in (grad, node.result()))
    return grad * (x - result).exp()


@derivative("linalg_vector_norm.default", label="LinalgVectorNormBackward0")
def _vector_norm(node: Derived, grad: Tensor) -> Tensor:
    order = node.option(1, 2)
    if order != 2:
        raise NotInTerms(f"mstorch: the gradient of a norm of order {order} is not known in the terms of torch.ops.aten")
    x = node.arg(0)
    grad, result = (_with_dims(item, len(x.shape), node.option(2, None) or None, node.option(3, False)) for item in (grad, node.result()))
    unit = x / result
    return grad * aten("masked_fill_.Scalar", unit, result == 0, 0)


# Views


def _view_back(node: Derived, grad: Tensor) -> Tensor:
    shape = list(node.shapes[0])
    return grad.reshape(shape)


derivative("view.default", label="ViewBackward0")(_view_back)
derivative("_unsafe_view.default", label="UnsafeViewBackward0")(_view_back)
derivative("expand.default", label="ExpandBackward0")(lambda node, grad: grad)
DERIVATIVES.update({"add_.Scalar": DERIVATIVES["add.Tensor"], "pow_.Scalar": DERIVATIVES["pow.Tensor_Scalar"]})
derivative("t.default", label="TBackward0")(lambda node, grad: grad.t())
derivative("transpose.int", label="TransposeBackward0")(lambda node, grad: aten("transpose.int", grad, node.plan[1], node.plan[2]))
derivative("unsqueeze.default", label="UnsqueezeBackward0")(lambda node, grad: aten("squeeze.dim", grad, node.plan[1]))


@derivative("permute.default", label="PermuteBackward0")
def _permute(node: Derived, grad: Tensor) -> Tensor:
    order = [d % len(node.plan[1]) for d in node.plan[1]]
    return aten("permute", grad, [order.index(d) for d in range(len(order))])


@derivative("squeeze.default", label="SqueezeBackward0")
def _squeeze(node: Derived, grad: Tensor) -> Tensor:
    for dim, length in enumerate(node.shapes[0]):
        grad = grad.unsqueeze(dim) if length == 1 else grad
    return grad


@derivative("squeeze.dim", label="SqueezeBackward1")
def _squeeze_dim(node: Derived, grad: Tensor) -> Tensor:
    shape, dim = node.shapes[0], node.plan[1]
    return grad.unsqueeze(dim) if shape and shape[dim] == 1 else grad


derivative("select.int", label="SelectBackward0")(
    lambda node, grad: aten("select_backward", grad, list(node.shapes[0]), node.plan[1], node.plan[2])
)


@derivative("slice.Tensor", label="SliceBackward0")
def _slice(node: Derived, grad: Tensor) -> Tensor:
    dim, start, end, step = (*node.plan[1:], *(0, None, None, 1)[len(node.plan) - 1 :])
    length = node.shapes[0][dim]
    return aten("slice_backward", grad, list(node.shapes[0]), dim, start or 0, length if end is None else end, step)


derivative("slice_backward.default", label="SliceBackwardBackward0")(lambda node, grad: aten("slice.Tensor", grad, *node.plan[2:]))
derivative("select_backward.default", label="SelectBackwardBackward0")(lambda node, grad: aten("select.int", grad, *node.plan[2:]))


def _split_sizes(length: int, size: int) -> list[int]:
    return [min(size, length - at) for at in range(0, length, size)] or [0]


def _joined(node: Derived, grads: tuple[Any, ...], sizes: list[int], dim: int) -> Tensor:
    shape = list(node.shapes[0])
    parts = []
    like = next(grad for grad in grads if grad is not None)
    for grad, size in zip(grads, sizes):
        lengths = [size if i == dim % len(shape) else n for i, n in enumerate(shape)]
        parts.append(aten("zeros", lengths, dtype=like.dtype, device=like.device) if grad is None else grad)
    return aten("cat", parts, dim)


@derivative("split.Tensor", label="SplitBackward0")
def _split(node: Derived, *grads: Tensor) -> Tensor:
    dim = node.option(2, 0) % len(node.shapes[0])
    return _joined(node, grads, _split_sizes(node.shapes[0][dim], node.plan[1]), dim)


@derivative("split_with_sizes.default", label="SplitWithSizesBackward0")
def _split_sizes_back(node: Derived, *grads: Tensor | None) -> Tensor:
    return _joined(node, grads, node.plan[1], node.option(2, 0) % len(node.shapes[0]))


@derivative("unbind.int", label="UnbindBackward0")
def _unbind(node: Derived, *grads: Tensor) -> Tensor:
    dim = node.option(1, 0)
    like = next(grad for grad in grads if grad is not None)
    parts = [
        grad if grad is not None else aten("expand", aten("zeros", [], dtype=like.dtype, device=like.device), list(like.shape))
        for grad in grads
    ]
    return aten("stack", parts, dim)


@derivative("cat.default", label="CatBackward0")
def _cat(node: Derived, grad: Tensor) -> list[Tensor | None]:
    dim, at = (node.option(1, 0)), 0
    found: list[Any] = []
    for number, shape in enumerate(node.shapes):
        if shape == (0,):
            found.append(None)
            continue
        found.append(aten("slice.Tensor", grad, dim, at, at + shape[dim]) if node.needs(number) else None)
        at += shape[dim]
    return found


@derivative("stack.default", label="StackBackward0")
def _stack(node: Derived, grad: Tensor) -> list[Tensor]:
    dim = node.option(1, 0)
    return [aten("select.int", grad, dim, number) if node.needs(number) else None for number in range(len(node.shapes))]


@derivative("repeat.default", label="RepeatBackward0")
def _repeat(node: Derived, grad: Tensor) -> Tensor:
    times, shape = node.plan[1], node.shapes[0]
    lead = len(times) - len(shape)
    parts, dims = list(times[:lead]), list(range(lead))
    for count, length in zip(times[lead:], shape):
        if count != 1:
            dims.append(len(parts))
            parts.append(count)
        parts.append(length)
    return aten("sum.dim_IntList", grad.reshape(parts), dims) if dims else grad
