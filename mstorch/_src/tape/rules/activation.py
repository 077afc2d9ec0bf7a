"""Gradients of activations."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.host.activation import activation_slope, gelu_slope, relu_slope
from ...backend.onednn.elementwise import GELU, GELU_TANH, SWISH
from ...backend.raw import Raw
from ...backend.table import serves
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ._chained import chained

_relu_grad = v.in_one_kernel(
    "relu_grad", lambda g, result: v.flat_in(v.where(v.positive_or_nan(result), g, 0), result), lambda g, result: relu_slope(result, g)
)


@rule("relu", keep=("result",))
def relu(node: Applied, g: Operand) -> Operand:
    return _relu_grad(g, node.kept(g))


@v.wide_where_bare
def _silu_slope(g: Operand, x: Operand) -> Operand:
    share = v.sigmoid(x)
    return v.mul(g, v.mul(share, v.plus(v.mul(x, v.plus(v.neg(share), 1)), 1)))


chained("silu", 0, v.in_one_kernel("silu_grad", _silu_slope, lambda g, x: activation_slope(SWISH, x, g)))


def _with_numbers(op: str, slope: Callable[..., Any]) -> None:
    """Register ``slope(gradient, operand, *numbers)`` as the gradient of an activation with numbers; on a device it is one kernel."""
    by_kernel = v.in_one_kernel(f"{op}_grad", slope)

    @rule(op, keep=(0,), symmetric=True)
    def backward(node: Applied, g: Operand) -> Operand:
        x = node.kept(g)
        return v.flat_in(by_kernel(g, x, *node.args), x)


_with_numbers("leaky_relu", lambda g, x, slope: v.where(v.positive(x), g, v.times(g, slope)))


def _gelu_of_arrays(g: Array, x: Array) -> Array | None:
    found = activation_slope(GELU, x, g) if g.ndim else None
    return gelu_slope(x, g) if found is None and g.ndim and g.dtype.char in "fd" else found


@v.wide
def _gelu_composed(g: Operand, x: Operand) -> Operand:
    share = v.times(v.plus(v.erf(v.times(x, 0.7071067811865476)), 1), 0.5)
    density = v.times(v.exp(v.times(v.mul(x, x), -0.5)), 0.3989422804014327)
    return v.mul(g, v.add(share, v.mul(x, density)))


@v.wide
def _gelu_tanh_composed(g: Operand, x: Operand) -> Operand:
    squared = v.mul(x, x)
    inner = v.tanh(v.times(v.mul(x, v.plus(v.times(squared, 0.044715), 1)), 0.7978845608028654))
    slope = v.times(v.plus(v.times(squared, 3 * 0.044715), 1), 0.7978845608028654)
    by_inner = v.mul(v.mul(x, v.plus(v.neg(v.mul(inner, inner)), 1)), slope)
    return v.mul(g, v.times(v.add(v.plus(inner, 1), by_inner), 0.5))


_gelu_slope = v.in_one_kernel("gelu_grad", lambda g, x, how: _gelu_composed(g, x), lambda g, x, how: _gelu_of_arrays(g, x))
_gelu_tanh_slope = v.in_one_kernel(
    "gelu_grad", lambda g, x, how: _gelu_tanh_composed(g, x), lambda g, x, how: activation_slope(GELU_TANH, x, g)
)
chained("gelu", 0, lambda g, x: _gelu_slope(g, x, "none"))
chained("gelu_tanh", 0, lambda g, x: _gelu_tanh_slope(g, x, "tanh"), "GeluBackward0")


_above = v.in_one_kernel("threshold_grad", lambda g, x, bound: v.where(v.at_most(x, bound), 0, g))


@v.ways(raw=lambda g, x, low, high: _above(_above(g, x, low), v.neg(x), -high))  # Ascend's own gradient treats the bounds as inside
def _hardtanh_slope(g: Operand, x: Operand, low: float, high: float) -> Any:
    return v.where(v.either(v.at_most(x, low), v.at_most(v.neg(x), -high)), 0, g)


@rule("hardtanh", keep=(0,), symmetric=True)
def hardtanh(node: Applied, g: Operand) -> Operand:
    x = node.kept(g)
    return v.flat_in(_hardtanh_slope(g, x, *node.args), x)


def _prelu_by_kernel(node: Applied, g: Raw) -> Any:
    shape = node.shapes[0]
    if len(shape) < 2 or 0 in shape or not serves("prelu_grad", node.kind.name):
        return None
    by_x, by_weight = _prelu_grad(g, node.kept(g, 0), movement.reshaped(node.kept(g, 1), (-1,)))
    return by_x, movement.reshaped(by_weight, node.shapes[1])


_prelu_grad = v.Primitive("prelu_grad")


def _prelu_slope(g: Operand, x: Operand, weight: Operand) -> Operand:
    if isinstance(g, TensorBase):  # at 0, torch differentiates this no further by the weight
        weight = v.where(v.at_least_zero(x), v.fixed(weight), weight)
    return v.where(v.positive(x), g, v.mul(g, weight))


@rule("prelu", keep=(0, 1), label="PreluKernelBackward0")
@v.by_gradient(raw=_prelu_by_kernel)
def prelu(node: Applied, g: Array) -> tuple[Array | None, ...]:
    x, weight = node.kept(g, 0), node.kept(g, 1)
    return (
        None if node.edges[0] is None else v.flat_in(_prelu_slope(g, x, weight), x),
        None if node.edges[1] is None else v.fit(v.where(v.at_least_zero(x), 0, v.mul(g, x)), node.shapes[1]),
    )


def _elu_slope(g: Operand, x: Operand, alpha: float, scale: float, inner: float) -> Operand:
    # At 0 the second derivative is 0, as in torch.
    above = v.positive(x)  # NaN counts as not positive, as in torch's vectorized loop
    slope = v.wide(lambda g, x: v.mul(g, v.times(v.exp(v.times(v.where(v.at_least_zero(x), 0, x), inner)), alpha * scale * inner)))
    return v.where(above, v.times(g, scale), slope(g, x))


_elu_by_kernel = v.in_one_kernel("elu_grad", _elu_slope)


@rule("elu", keep=(0,), symmetric=True)
def elu(node: Applied, g: Operand) -> Operand:
    return _elu_by_kernel(g, node.kept(g), *node.args)


_softplus = v.elementwise("softplus")


@v.wide_where_bare
def _mish_slope(g: Operand, x: Operand) -> Operand:
    inner = v.tanh(_softplus(x, 1, math.inf))
    return v.mul(g, v.add(inner, v.mul(v.mul(x, v.sigmoid(x)), v.plus(v.neg(v.mul(inner, inner)), 1))))


chained("mish", 0, v.in_one_kernel("mish_grad", _mish_slope))


def _growth(g: Array, z: Array) -> Array:
    return v.div(v.mul(g, z), v.plus(z, 1))


def _softplus_grad(g: Operand, x: Operand, beta: float, bound: float) -> Operand:
    scaled = v.times(x, beta)
    steep = v.above(scaled, bound)
    return v.where(steep, g, _softplus_slope(g, x, beta, steep, v.at_most(v.neg(scaled), -bound)))


_softplus_by_kernel = v.in_one_kernel("softplus_grad", _softplus_grad)


@rule("softplus", keep=(0,), symmetric=True)
def softplus(node: Applied, g: Operand) -> Operand:
    return _softplus_by_kernel(g, node.kept(g), *node.args)


def _softplus_of_arrays(g: Array, x: Array, beta: float, steep: Array, at_bound: Array) -> Array:
    return v.wide(lambda g, x: _growth(g, v.exp(v.times(x, beta))))(g, x)


@v.ways(array=_softplus_of_arrays)
def _softplus_slope(g: TensorBase, x: TensorBase, beta: float, steep: Array, at_bound: Array) -> TensorBase:
    # A form in which no exponential overflows; at the bound the second derivative is 0, as in torch.
    return v.mul(g, v.sigmoid(v.times(v.where(steep, 0, v.where(at_bound, v.fixed(x), x)), beta)))


chained("logsigmoid", 0, v.in_one_kernel(
    "logsigmoid_grad", lambda g, x: v.mul(g, v.sigmoid(v.neg(x))),
    lambda g, x: v.wide(_logsigmoid_gradient)(g, v.exp(v.neg(v.abs_(x))), x),
), "LogSigmoidBackward0")  # fmt: skip


def _logsigmoid_gradient(g: Array, z: Array, x: Array) -> Array:
    """Return the gradient of logsigmoid at x, given ``z = exp(-|x|)`` in the dtype of x, which torch saves."""
    share = v.div(z, v.plus(z, 1))
    return v.mul(g, v.where(v.less_than(x, 0), v.plus(v.neg(share), 1), share))


def _within(x: Array, low: float, high: float) -> Array:
    return v.both(v.above(x, low), v.less_than(x, high))


_SIXTH = float(np.float32(1 / 6))  # torch uses the float32 constant in double precision too


chained(
    "hardsigmoid", 0,
    v.in_one_kernel("hardsigmoid_grad", lambda g, x: v.where(_within(x, -3, 3), v.wide(lambda g: v.times(g, _SIXTH))(g), 0)),
)  # fmt: skip
_hardsigmoid = v.Primitive("hardsigmoid")


def _hardswish_slope_on_device(g: Any, x: Any) -> Any:
    """Return the gradient by seven kernels: outside of (-3, 3) the slope is hardsigmoid's value. Ascend's own gradient treats -3 and 3 as
    inside."""
    inside = v.less_than(v.abs_(x), 3)
    return v.mul(g, v.where(inside, v.plus(v.times(x, 1 / 3), 0.5), _hardsigmoid(x)))


@rule("hardswish", keep=(0,), symmetric=True)
def hardswish(node: Applied, g: Operand) -> Operand:
    return _hardswish_slope(g, node.kept(g))


@v.ways(raw=_hardswish_slope_on_device)
def _hardswish_slope(g: Operand, x: Operand) -> Operand:
    flat, straight = v.at_most(x, -3), v.at_most(v.neg(x), -3)
    x = _bounded(x, flat, straight)
    slope = v.wide(lambda g, x: v.mul(g, v.plus(v.times(x, 1 / 3), 0.5)))
    return v.where(flat, 0, v.where(straight, g, slope(g, x)))


@v.ways(array=lambda x, flat, straight: x)
def _bounded(x: TensorBase, flat: Array, straight: Array) -> TensorBase:
    """Return x with zeros where the slope is 0 (``flat``) or 1 (``straight``), because an infinite x would make the product NaN there."""
    return v.where(flat, 0, v.where(straight, 0, x))


def _shrink(op: str) -> None:
    # NaN counts as inside, as in torch's vectorized loop.
    by_kernel = v.in_one_kernel(f"{op}_grad", lambda g, x, bound: v.where(v.either(v.above(x, bound), v.less_than(x, -bound)), g, 0))

    @rule(op, keep=(0,), symmetric=True)
    def outside(node: Applied, g: Operand) -> Operand:
        x, bound = node.kept(g), float(np.asarray(node.args[0]).astype(node.kind.np))  # rounded to half precision, as in torch
        return v.flat_in(by_kernel(g, x, bound), x)


_shrink("softshrink")
_shrink("hardshrink")


@rule("threshold", keep=(0,), symmetric=True)
def threshold(node: Applied, g: Operand) -> Operand:
    x = node.kept(g)
    return v.flat_in(_above(g, x, node.args[0]), x)


def _tanhshrink_slope(g: Any, x: Any) -> Any:
    inner = v.tanh(x)
    return v.mul(g, v.mul(inner, inner))


def _softsign_slope(g: Operand, x: Operand) -> Operand:
    size = v.abs_(x)
    below = v.plus(size, 1)
    return v.sub(v.div(g, below), v.mul(g, v.div(v.div(size, below), below)))


chained("tanhshrink", 0, v.wide(_tanhshrink_slope), "SubBackward0")
chained("softsign", 0, v.wide(_softsign_slope), "DivBackward0")
