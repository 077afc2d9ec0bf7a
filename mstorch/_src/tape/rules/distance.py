"""Gradients of norms and distances."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...quiet import quiet
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from .reduce import restored


@rule("p_norm", keep=(0, "result"))
def p_norm(node: Applied, g: Array) -> Array | None:
    """Return the gradient of a norm or distance. As in torch, each of several equal maxima gets the full gradient, and the sign of NaN is
    NaN."""
    p, dims, keepdim, share = node.args
    if p == 0:
        return None if share else v.nothing(g, node.shapes[0])
    slope = v.wide_where_bare(lambda g, x, y: _of_norm(g, x, y, p, dims) if share else _of_distance(g, x, y, p))
    return slope(restored(node, g, dims, keepdim), node.kept(g, 0), restored(node, node.kept(g, 1), dims, keepdim))


_cross = v.Primitive("cross")


@rule("cross", keep=(0, 1), crosswise=(0, 1), label="LinalgCrossBackward0")
def cross(node: Any, g: Any) -> tuple[Any, Any]:
    first, second = node.edges
    return (
        None if first is None else _cross(node.kept(g, 1), g, *node.args),
        None if second is None else _cross(g, node.kept(g, 0), *node.args),
    )


def _divided_by_norm(value: Array, norm: Array, exponent: float = 1) -> Array:
    """Divide a value by a power of the norm; return zero where the norm is zero."""
    flat = v.is_zero(norm)
    return v.where(flat, 0, v.div(value, _power(v.where(flat, 1, norm), exponent)))


def _signed(x: Array, value: Array) -> Array:
    return v.flat_in(v.mul(v.like(v.signs(x), value), value), x)


def _of_norm(g: Array, x: Array, y: Array, p: float, dims: tuple[int, ...]) -> Array:
    if p == 1:
        return _signed(x, g)
    if p == 2:
        return v.mul(_divided_by_norm(x, y), g)
    if math.isinf(p):
        size, norm = np.abs(v.host_array(x)), v.host_array(y)
        largest = (size == norm) | np.isnan(size) & np.isnan(norm)
        with quiet():
            each = np.asarray(largest / largest.sum(dims or None, keepdims=True)).astype(size.dtype)
        return _signed(x, v.mul(g, v.like(each, g)))
    if p < 1:
        powers = v.where(v.is_zero(x), 0, _signed(x, _power(v.abs_(x), p - 1)))
        return v.mul(v.mul(powers, g), _power(y, 1 - p))
    powers = _signed(x, _power(v.abs_(x), p - 1)) if p < 2 else v.mul(x, _power(v.abs_(x), p - 2))
    return v.mul(powers, _divided_by_norm(g, y, p - 1))


def _power(value: Array, exponent: float) -> Array:
    return value if exponent == 1 else v.scalar_power(value, exponent)


def _sign(x: Array) -> Array:
    """Return the sign of each element; NaN for NaN."""
    return v.like(v.signs(x, keeps_nan=True), x)


def _at_largest_on_device(value: Any, x: Any, y: Any) -> Any:
    far = v.abs_(v.sub(v.abs_(x), y))
    return v.mul(value, v.where(v.is_zero(far), 1, v.where(v.bare_condition(v.ne(far, far)), far, 0)))


@v.ways(native=_at_largest_on_device)
def _at_largest(value: Operand, x: Operand, y: Operand) -> Any:
    """Return ``value`` where ``abs(x)`` equals the norm ``y``, else 0. On the host, the result is NaN where ``x`` or ``y`` is NaN."""
    with quiet():
        far = np.ceil(np.abs(np.abs(v.host_array(x)) - v.host_array(y)))
        return v.mul(value, v.like(1 - np.minimum(far, 1), value))


def _of_distance(g: Array, x: Array, y: Array, p: float) -> Array:
    if p == 1:
        return v.flat_in(v.mul(g, _sign(x)), x)
    if p == 2:
        return _divided_by_norm(v.mul(g, x), y)
    if math.isinf(p):
        return v.flat_in(_at_largest(v.mul(g, _sign(x)), x, y), x)
    if p >= 2:
        return _divided_by_norm(v.mul(v.mul(x, _power(v.abs_(x), p - 2)), g), y, p - 1)
    found = _divided_by_norm(v.mul(v.mul(_sign(x), _power(v.abs_(x), p - 1)), g), y, p - 1)
    return v.where(v.is_zero(x), 0, found) if p < 1 else found
