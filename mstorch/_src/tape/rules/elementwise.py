"""Gradients of elementwise arithmetic."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...core.tensor_base import TensorBase
from ...quiet import silent
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand, as_raw
from ..primitives import Primitive


@rule("add")
def add(node: Applied, g: Operand) -> Any:
    first, second = node.edges
    if second is None and g.__class__ is np.ndarray and g.shape == node.shapes[0]:
        return g, None  # fast path for the usual case
    return (None if first is None else v.fit(g, node.shapes[0]), None if second is None else v.fit(g, node.shapes[1]))


@rule("add_scaled", label="AddBackward0")
def add_scaled(node: Any, g: Any) -> Any:
    """Return the gradients of a scaled sum on a device."""
    first, second = node.edges
    return (
        None if first is None else v.fit(g, node.shapes[0]),
        None if second is None else v.fit(v.times(g, node.args[0]), node.shapes[1]),
    )


@rule("lerp_scalar", label="LerpBackward0")
def lerp_scalar(node: Any, g: Any) -> Any:
    """Return the gradients of ``lerp`` with a scalar weight on a device."""
    (first, second), (weight,) = node.edges, node.args
    return (
        None if first is None else v.fit(v.times(g, 1 - weight), node.shapes[0]),
        None if second is None else v.fit(v.times(g, weight), node.shapes[1]),
    )


@rule("sub")
def sub(node: Applied, g: Operand) -> Any:
    first, second = node.edges
    return (None if first is None else v.fit(g, node.shapes[0]), None if second is None else v.fit(v.neg(g), node.shapes[1]))


@rule("mul", keep=(0, 1), crosswise=(0, 1))
def mul(node: Any, g: Operand) -> Any:
    first, second = node.edges
    if second is None is not first and g.__class__ is np.ndarray and g.dtype.char in "fd" and g.ndim and g.shape == node.shapes[0]:
        return silent.multiply(g, node.saved[1].value(node, False)), None  # fast path for the usual case
    return (
        None if first is None else v.fit(v.mul(g, v.conj(node.kept(g, 1))), node.shapes[0]),
        None if second is None else v.fit(v.mul(g, v.conj(node.kept(g, 0))), node.shapes[1]),
    )


@rule("div", keep=(0, 1), crosswise=(0,))
def div(node: Applied, g: Operand) -> tuple[Operand | None, Array | None]:
    first, second = node.edges
    y = node.kept(g, 1)
    return (
        None if first is None else v.fit(v.div(g, v.conj(y)), node.shapes[0]),
        None if second is None else v.fit(v.mul(v.neg(g), v.conj(v.div(v.div(node.kept(g, 0), y), y))), node.shapes[1]),
    )


@rule("neg", symmetric=True)
def neg(node: Applied, g: Array) -> Any:
    return v.neg(g)


@rule("pow", keep=(0, 1, "result"), label="PowBackward1")
def pow(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    x, y, result = node.kept(g, 0), node.kept(g, 1), node.kept(g, 2)
    base = exponent = None
    if node.edges[0] is not None:
        lower = v.plus(y, -1)
        if isinstance(g, TensorBase):  # 0 times infinity would be NaN in derivatives of this
            lower = v.where(v.is_zero(y), 0, lower)
        slope = v.mul(y, v.power(x, lower))
        base = v.fit(v.where(v.is_zero(y), 0, v.mul(g, v.conj(slope))), node.shapes[0])
    if node.edges[1] is not None:
        flat = v.both(v.is_zero(x), v.at_least_zero(y))
        logarithm = v.log(v.where(flat, 1, x) if isinstance(g, TensorBase) else x)
        exponent = v.fit(v.mul(g, v.conj(v.where(flat, 0, v.mul(result, logarithm)))), node.shapes[1])
    return base, exponent


@rule("scalar_power", keep=(0,), label="PowBackward0", symmetric=True)
def scalar_power(node: Applied, g: Operand) -> Operand:
    (exponent,) = node.args
    if exponent == 0:
        return v.nothing(g, node.shapes[0])
    x = node.kept(g)
    recorded = isinstance(x, TensorBase)
    if exponent == 1:
        return v.mul(g, v.scalar_power(x, 0)) if recorded else v.times(g, 1)
    if isinstance(exponent, complex) or node.kind.is_complex:
        return v.mul(g, v.conj(v.times(v.scalar_power(x, exponent - 1), exponent)))
    return v.mul(g, v.times(x if exponent == 2 and not recorded else v.scalar_power(x, exponent - 1), exponent))


@rule("square", keep=(0,), label="PowBackward0", symmetric=True)
def square(node: Applied, g: Array) -> Operand:
    x = node.kept(g)
    return v.mul(g, v.conj(v.times(v.scalar_power(x, 1) if isinstance(x, TensorBase) else x, 2)))


@rule("where", label="WhereBackward0", keep=(0,))
def where(node: Applied, g: Operand) -> tuple[Any, ...]:
    condition = v.bare_condition(node.kept(g))
    _, first, second = node.edges
    return (
        None,
        None if first is None else v.fit(v.where(condition, g, 0), node.shapes[1]),
        None if second is None else v.fit(v.where(condition, 0, g), node.shapes[2]),
    )


@rule("conj", label="ConjBackward0")
def conj(node: Applied, g: Array) -> Any:
    return v.conj(g)


def _extreme(op: str) -> None:
    @rule(op, keep=(0, 1))
    def larger(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
        x, y = node.kept(g, 0), node.kept(g, 1)
        first, second = v.shares(x, y) if op == "maximum" else v.shares(v.neg(x), v.neg(y))
        return (
            None if node.edges[0] is None else _masked(_share_of(g, first), node.shapes[0]),
            None if node.edges[1] is None else _masked(_share_of(g, second), node.shapes[1]),
        )


def _share_of(g: Operand, share: Array) -> Any:
    """Multiply the gradient by a share; return 0 where the share is 0, even for a NaN gradient."""
    return v.where(v.above(share, 0), v.mul(g, v.like(share, g)), 0)


def _masked(found: Array, shape: tuple[int, ...]) -> Any:
    """Return a gradient, summed to the shape of its operand if that was broadcast."""
    return found if v.shape_of(found) == shape else v.fit(found, shape)


_extreme("maximum")
_extreme("minimum")


@rule("abs", keep=(0,))
def abs(node: Applied, g: Operand) -> Any:
    x = node.kept(g)
    if not node.kind.is_complex:
        return v.flat_in(v.mul(g, v.like(v.signs(x), g)), x)
    return v.mul(v.converted(g, node.kind.name), v.sgn(x))


def _clamp_on_device(node: Any, g: Any) -> Any:
    """Return the gradient of clamp on a device: 1 between the bounds; the lower bound is applied first."""
    x, low, high = [as_raw(node.kept(g, place)) for place in range(3)]
    by_x, by_low, by_high = node.edges
    beside = None if low is None or high is None else (v.lt(low, high), v.lt(high, low))
    inside: Any = None
    below: Any = None
    above: Any = None
    if low is not None:
        inside, below = v.ge(x, low), v.lt(x, low)
    if high is not None:
        under = v.le(x, high)
        inside, above = under if inside is None else v.both(inside, under), v.gt(x, high)
    if beside is not None:
        below, above = v.both(below, beside[0]), v.either(above, beside[1])
    return tuple(
        None if edge is None else v.fit(v.where(condition, g, 0), shape)
        for edge, condition, shape in zip((by_x, by_low, by_high), (inside, below, above), node.shapes)
    )


@rule("clamp", keep=(0, 1, 2))
@v.by_gradient(native=_clamp_on_device)
def clamp(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
    x, low, high = [None if item is None else v.host_array(item) for item in (node.kept(g, 0), node.kept(g, 1), node.kept(g, 2))]
    by_x, by_low, by_high = node.edges
    inside: Any = None
    below: Any = None
    above: Any = None
    if by_x is not None:
        inside = np.ones(node.shapes[0], bool) if low is None else x >= low
        if high is not None:
            inside = inside & (x <= high)
        inside = v.fit(v.where(np.asarray(inside), g, 0), node.shapes[0])
    if by_low is not None:
        below = x < low if high is None else (x < low) & (low < high)  # type: ignore[operator]
        below = v.fit(v.where(np.asarray(below), g, 0), node.shapes[1])
    if by_high is not None:
        above = x > high if low is None else (x > high) | (high < low)  # type: ignore[operator]
        above = v.fit(v.where(np.asarray(above), g, 0), node.shapes[2])
    return inside, below, above


def _mine_of_arrays(x: Array, y: Array, op: str) -> Array:
    x, y = v.host_array(x), v.host_array(y)
    return np.asarray((x >= y if op == "fmax" else x <= y) | np.isnan(y))


@v.ways(array=_mine_of_arrays)
def _first_is_result(x: Any, y: Any, op: str) -> Any:
    """Return a mask for the first operand of ``fmax`` or ``fmin``: True where x is the result, or y is NaN."""
    return v.either((v.ge if op == "fmax" else v.le)(x, y), v.ne(y, y))


def _extreme_number(op: str) -> None:
    """Register the gradient rule of ``fmax`` or ``fmin``, which ignore NaN."""

    @rule(op, keep=(0, 1))
    def chosen(node: Applied, g: Operand) -> Any:
        mine = _first_is_result(v.bare_condition(node.kept(g, 0)), v.bare_condition(node.kept(g, 1)), op)
        return (
            None if node.edges[0] is None else v.fit(v.where(mine, g, 0), node.shapes[0]),
            None if node.edges[1] is None else v.fit(v.where(mine, 0, g), node.shapes[1]),
        )


_extreme_number("fmax")
_extreme_number("fmin")


def _remainder(op: str, quotient: Primitive) -> None:
    @rule(op, keep=(0, 1), second=True)
    def rest(node: Applied, g: Operand) -> Any:
        other = None
        if node.edges[1] is not None:
            divisor = node.kept(g, 1)
            x, y = v.bare_condition(node.kept(g, 0)), v.bare_condition(divisor)
            if node.kind.itemsize == 2 and op == "fmod":  # torch rounds the quotient before truncating it
                x, y = v.div(x, y), v.constant(1, y)
            other = v.flat_in(v.fit(v.neg(v.mul(g, v.like(quotient(x, y), g))), node.shapes[1]), divisor)
        return None if node.edges[0] is None else v.fit(g, node.shapes[0]), other


_remainder("fmod", v.elementwise("trunc_divide"))
_remainder("remainder", v.elementwise("floor_divide"))


def _flat(op: str) -> None:
    @rule(op, label="DivBackward1")
    def zero(node: Applied, g: Operand) -> tuple[Operand | None, ...]:
        return tuple(None if edge is None else v.fit(v.nothing(g), shape) for edge, shape in zip(node.edges, node.shapes))


_flat("floor_divide")
_flat("trunc_divide")
