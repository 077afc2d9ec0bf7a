"""Gradients of exponentials, logarithms and trigonometry."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ...backend.arrays import Array
from ...backend.formulas import elementwise as formulas
from ...backend.raw import NAME_OF_NP
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ..primitives import Primitive


def _flat(op: str) -> None:
    @rule(op, symmetric=True)
    def zero(node: Applied, g: Operand) -> Operand:
        return v.nothing(g)


for _op in ("floor", "ceil", "trunc", "round", "sign"):
    _flat(_op)


@rule("frac", symmetric=True)
def frac(node: Applied, g: Operand) -> Operand:
    return g


@rule("logit", keep=(0,), symmetric=True)
def logit(node: Applied, g: Operand) -> Operand:
    return formulas.logit_gradient(v, g, node.kept(g), *node.args)


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


def _log_times(g: Array, x: Array, other: Array, product: Primitive, least: float) -> Operand:
    """Return ``product(g, other)``, that is ``g * log(other)`` with 0 where g is 0; 0 also where x is 0 and ``other`` is at most ``least``.
    """
    flat = v.both(v.is_zero(x), v.at_most(other, least))
    return v.where(flat, 0, product(g, v.where(flat, 1, other)))


_xlogy, _xlog1py = v.Primitive("xlogy"), v.Primitive("xlog1py")


_of_two("atan2", lambda g, x, y, _: (
    lambda: v.mul(g, v.mul(y, _inverse_square(x, y))), lambda: v.mul(g, v.mul(v.neg(x), _inverse_square(x, y))),
))  # fmt: skip
_of_two("hypot", lambda g, x, y, result: (
    lambda: formulas.hypot_gradient(v, g, x, result), lambda: formulas.hypot_gradient(v, g, y, result),
), result=True)  # fmt: skip


@rule("copysign", keep=(0, "result"))
def copysign(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    first, second = node.edges
    result = node.kept(g, 1)
    return (
        None if first is None else v.fit(v.wide(_same_sign)(g, node.kept(g, 0), result), node.shapes[0]),
        None if second is None else v.fit(v.nothing(g), node.shapes[1]),
    )


for _op, _base in (("logaddexp", math.e), ("logaddexp2", 2.0)):
    _share = partial(formulas.logaddexp_gradient, v, factor=math.log(_base))
    _of_two(_op, lambda g, x, y, _, share=_share: (lambda: share(g, x, y), lambda: share(g, y, x)))
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
