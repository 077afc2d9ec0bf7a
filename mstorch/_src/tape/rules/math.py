"""Gradients of exponentials, logarithms and trigonometry."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.arrays import Array
from ...backend.raw import NAME_OF_NP
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive, dtype_name
from ._chained import chained


def _acosh_slope(x: Operand) -> Operand:
    if dtype_name(x).startswith("complex"):
        return v.mul(v.rsqrt(v.plus(x, -1)), v.rsqrt(v.plus(x, 1)))
    return v.rsqrt(v.plus(v.mul(x, x), -1))


# Slopes by the result where that is cheaper, as in torch, else by the argument. Slopes that divide the gradient come last.
OF_RESULT: dict[str, Callable[[Any], Any]] = {
    "exp": lambda y: y,
    "expm1": lambda y: v.plus(y, 1),
    "tan": lambda y: v.plus(v.mul(y, y), 1),
}
OF_ARGUMENT: dict[str, Callable[[Any], Any]] = {
    "erf": lambda x: v.times(v.exp(v.neg(v.mul(x, x))), 2 / math.sqrt(math.pi)),
    "sin": v.cos,
    "cos": lambda x: v.neg(v.sin(x)),
    "sinh": v.cosh,
    "cosh": v.sinh,
    "asin": lambda x: v.rsqrt(v.plus(v.neg(v.mul(x, x)), 1)),
    "acos": lambda x: v.neg(v.rsqrt(v.plus(v.neg(v.mul(x, x)), 1))),
    "asinh": lambda x: v.rsqrt(v.plus(v.mul(x, x), 1)),
    "acosh": _acosh_slope,
}
OVER_ARGUMENT: dict[str, Callable[[Any], Any]] = {
    "log": lambda x: x,
    "log1p": lambda x: v.plus(x, 1),
    "log2": lambda x: v.times(x, math.log(2)),
    "log10": lambda x: v.times(x, math.log(10)),
    "atan": lambda x: v.plus(v.mul(x, x), 1),
    "atanh": lambda x: v.plus(v.neg(v.mul(x, x)), 1),
}
LABELS = {"log1p": "Log1PBackward0", "expm1": "Expm1Backward0"}


def _factor(derivative: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda g, value: v.mul(g, v.conj(derivative(value)))


def _divisor(divisor: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda g, value: v.div(g, v.conj(divisor(value)))


for _op, _derivative in OF_RESULT.items():
    chained(_op, "result", _factor(_derivative), LABELS.get(_op))
for _op, _derivative in OF_ARGUMENT.items():
    chained(_op, 0, _factor(_derivative))
for _op, _derivative in OVER_ARGUMENT.items():
    chained(_op, 0, _divisor(_derivative), LABELS.get(_op))
_tanh_slope = v.wide(_factor(lambda y: v.plus(v.neg(v.mul(y, y)), 1)))  # torch rounds once
chained("tanh", "result", v.in_one_kernel("tanh_grad", _tanh_slope))
chained("exp2", "result", lambda g, y: v.times(v.mul(g, v.conj(y)), math.log(2)))


def _sigmoid_slope(g: Operand, y: Operand) -> Operand:
    y = v.conj(y)
    return v.mul(v.mul(g, v.plus(v.neg(y), 1)), y)


# torch rounds intermediate results in float16, but not in bfloat16.
chained("sigmoid", "result", v.in_one_kernel(
    "sigmoid_grad", lambda g, y: (_sigmoid_slope if dtype_name(g) == "float16" else v.wide(_sigmoid_slope))(g, y)
))  # fmt: skip


def _flat(op: str) -> None:
    @rule(op, symmetric=True)
    def zero(node: Applied, g: Operand) -> Operand:
        return v.nothing(g)


for _op in ("floor", "ceil", "trunc", "round", "sign"):
    _flat(_op)


@rule("frac", symmetric=True)
def frac(node: Applied, g: Operand) -> Operand:
    return g


def _sinc_slope(g: Operand, x: Operand) -> Any:
    turned = v.times(x, math.pi)
    below = v.mul(turned, x)
    flat = v.is_zero(below)
    slope = v.div(v.sub(v.mul(turned, v.cos(turned)), v.sin(turned)), below)  # at 0 torch defines no second derivative either
    return v.where(flat, 0, v.mul(g, v.conj(slope)))


chained("sinc", 0, _sinc_slope)


@rule("logit", keep=(0,), symmetric=True)
def logit(node: Applied, g: Operand) -> Operand:
    x, (low, high) = node.kept(g), node.args
    slope = v.div(g, v.mul(v.plus(x, 0), v.plus(v.neg(x), 1)))
    if low is None:
        return v.where(v.either(v.less_than(x, 0), v.less_than(v.neg(x), -1)), math.nan, slope)
    return v.where(v.either(v.less_than(x, low), v.less_than(v.neg(x), -high)), 0, slope)


def _of_two(
    op: str, slopes: Callable[[Any, Any, Any, Any], tuple[Any, Any]], label: str | None = None, *, result: bool = False
) -> None:  # fmt: skip
    """Register the rule of a binary operation from its slopes, functions of the operands, the gradient and, on request, the result."""
    first_slope, second_slope = (lambda *values, place=place: slopes(*values)[place]() for place in (0, 1))

    @rule(op, keep=(0, 1, "result") if result else (0, 1), label=label)
    def backward(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
        values = (g, node.kept(g, 0), node.kept(g, 1), node.kept(g, 2) if result else None)
        first, second = node.edges
        return (
            None if first is None else v.fit(first_slope(*values), node.shapes[0]),
            None if second is None else v.fit(second_slope(*values), node.shapes[1]),
        )


def _inverse_square(x: Operand, y: Operand) -> Operand:
    total = v.add(v.mul(x, x), v.mul(y, y))
    flat = v.is_zero(total)
    return v.where(flat, 0, v.reciprocal(total))


def _same_sign(g: Operand, x: Operand, result: Operand) -> Operand:
    flat = v.is_zero(x)
    return v.mul(g, v.where(flat, 0, v.div(result, x)))


def _log_share(g: Operand, x: Operand, other: Operand) -> Operand:
    return v.div(g, v.conj(v.plus(v.exp(v.sub(other, x)), 1)))


def _log2_share(g: Operand, x: Operand, other: Operand) -> Operand:
    return v.div(g, v.conj(v.plus(v.exp(v.times(v.sub(other, x), math.log(2))), 1)))


def _log_times(g: Array, x: Array, other: Array, product: Primitive, least: float) -> Operand:
    """Return ``product(g, other)``, that is ``g * log(other)`` with 0 where g is 0; 0 also where x is 0 and ``other`` is at most ``least``.
    """
    flat = v.both(v.is_zero(x), v.at_most(other, least))
    return v.where(flat, 0, product(g, v.where(flat, 1, other)))


_xlogy, _xlog1py = v.Primitive("xlogy"), v.Primitive("xlog1py")


_of_two("atan2", lambda g, x, y, _: (
    lambda: v.mul(g, v.mul(y, _inverse_square(x, y))), lambda: v.mul(g, v.mul(v.neg(x), _inverse_square(x, y))),
))  # fmt: skip
_of_two("hypot", lambda g, x, y, result: (lambda: v.mul(g, v.div(x, result)), lambda: v.mul(g, v.div(y, result))), result=True)


@rule("copysign", keep=(0, "result"))
def copysign(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    first, second = node.edges
    result = node.kept(g, 1)
    return (
        None if first is None else v.fit(v.wide(_same_sign)(g, node.kept(g, 0), result), node.shapes[0]),
        None if second is None else v.fit(v.nothing(g), node.shapes[1]),
    )


_of_two("logaddexp", lambda g, x, y, _: (lambda: _log_share(g, x, y), lambda: _log_share(g, y, x)))
_of_two("logaddexp2", lambda g, x, y, _: (lambda: _log2_share(g, x, y), lambda: _log2_share(g, y, x)))
_of_two("xlogy", lambda g, x, y, _: (lambda: _log_times(g, x, y, _xlogy, 0), lambda: v.div(v.mul(g, x), y)))
_of_two("xlog1py", lambda g, x, y, _: (
    lambda: _log_times(g, x, y, _xlog1py, -1), lambda: v.div(v.mul(g, x), v.plus(y, 1)),
), "SpecialXlog1PyBackward0")  # fmt: skip


def _as_complex(value: Operand, kind: Any) -> Operand:
    """Cast real numbers to complex."""
    return v.converted(value, NAME_OF_NP[kind])


@v.wide
def _angle_slope(g: Operand, z: Operand) -> Operand:
    flat = v.is_zero(z)
    return v.where(flat, 0, v.div(v.times(g, 1j), v.conj(v.where(flat, 1, z))))


@rule("angle", keep=(0,))
def angle(node: Applied, g: Operand) -> Operand:
    """Return the gradient of ``angle``, which is 0 for real numbers."""
    if not node.kind.is_complex:
        return v.nothing(node.kept(g))
    return _angle_slope(_as_complex(g, node.kind.np), node.kept(g))


@v.wide
def _sgn_slope(g: Array, z: Array, turned: Array) -> Array:
    """Return the gradient of ``sgn`` at complex z, where ``turned`` is sgn(z): ``(g - conj(g) * turned²) / (2 |z|)``; 0 where z is 0."""
    flat = v.is_zero(z)
    across = v.sub(g, v.mul(v.conj(g), v.mul(turned, turned)))
    return v.where(flat, 0, v.div(across, v.where(flat, 1, v.times(v.mul(z, v.conj(turned)), 2))))


@rule("sgn", keep=(0, "result"))
def sgn(node: Applied, g: Array) -> Operand:
    if not node.kind.is_complex:
        return v.nothing(g, node.shapes[0])
    if node.kind.name == "complex32":  # torch lacks complex32 kernels for the quotients
        raise NotImplementedError("\"div_cpu\" not implemented for 'ComplexHalf'")
    return _sgn_slope(g, node.kept(g, 0), node.kept(g, 1))
