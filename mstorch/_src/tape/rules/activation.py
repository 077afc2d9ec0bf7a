"""Gradients of activations: the formulas, and the cases in which a kernel or fewer steps compute them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend.arrays import Array
from ...backend.formulas import activation as formulas
from ...backend.host.activation import (
    activation_slope,
    gelu_slope,
    hardtanh_slope,
    leaky_relu_slope,
    relu_slope,
)
from ...backend.onednn.elementwise import GELU, GELU_TANH, SWISH
from ...backend.raw import Raw
from ...backend.table import serves
from ...core.tensor_base import TensorBase
from .. import movement
from .. import vocabulary as v
from ..apply import Applied, rule
from ..operands import Operand
from ._chained import chained


def _formula(op: str) -> Callable[..., Any]:
    """Return the gradient of an activation, ``slope(g, x, *numbers)``."""
    gradient = getattr(formulas, f"{op}_gradient")
    return lambda g, x, *numbers: gradient(v, g, x, *numbers)


def _with_numbers(op: str, slope: Callable[..., Any]) -> None:
    """Register ``slope(gradient, operand, *numbers)`` as the gradient of an activation with numbers."""

    @rule(op, keep=(0,), symmetric=True)
    def backward(node: Applied, g: Operand) -> Operand:
        x = node.kept(g)
        return v.flat_in(slope(g, x, *node.args), x)


_relu_grad = v.in_one_kernel(
    "relu_grad", lambda g, result: v.flat_in(formulas.relu_gradient(v, g, result), result), lambda g, result: relu_slope(result, g)
)


@rule("relu", keep=("result",))
def relu(node: Applied, g: Operand) -> Operand:
    return _relu_grad(g, node.kept(g))


chained("silu", 0, v.in_one_kernel("silu_grad", v.wide_where_bare(_formula("silu")), lambda g, x: activation_slope(SWISH, x, g)))
_with_numbers(
    "leaky_relu",
    v.in_one_kernel("leaky_relu_grad", _formula("leaky_relu"), lambda g, x, slope: leaky_relu_slope(x, g, slope)),
)


def _gelu_of_arrays(g: Array, x: Array) -> Array | None:
    found = activation_slope(GELU, x, g) if g.ndim else None
    return gelu_slope(x, g) if found is None and g.ndim and g.dtype.char in "fd" else found


_gelu_composed, _gelu_tanh_composed = v.wide(_formula("gelu")), v.wide(_formula("gelu_tanh"))
_gelu_slope = v.in_one_kernel("gelu_grad", lambda g, x, how: _gelu_composed(g, x), lambda g, x, how: _gelu_of_arrays(g, x))
_gelu_tanh_slope = v.in_one_kernel(
    "gelu_grad", lambda g, x, how: _gelu_tanh_composed(g, x), lambda g, x, how: activation_slope(GELU_TANH, x, g)
)
chained("gelu", 0, lambda g, x: _gelu_slope(g, x, "none"))
chained("gelu_tanh", 0, lambda g, x: _gelu_tanh_slope(g, x, "tanh"), "GeluBackward0")


_above = v.in_one_kernel("threshold_grad", _formula("threshold"))
# On a device by two kernels of threshold, because Ascend's own gradient treats the bounds as inside.
_with_numbers("hardtanh", v.ways(
    array=lambda g, x, low, high: hardtanh_slope(x, g, low, high),
    raw=lambda g, x, low, high: _above(_above(g, x, low), v.neg(x), -high),
)(_formula("hardtanh")))  # fmt: skip
_with_numbers("threshold", lambda g, x, bound, value: _above(g, x, bound))


def _prelu_by_kernel(node: Applied, g: Raw) -> Any:
    shape = node.shapes[0]
    if len(shape) < 2 or 0 in shape or not serves("prelu_grad", node.kind.name):
        return None
    by_x, by_weight = _prelu_grad(g, node.kept(g, 0), movement.reshaped(node.kept(g, 1), (-1,)))
    return by_x, movement.reshaped(by_weight, node.shapes[1])


_prelu_grad = v.Primitive("prelu_grad")


def _prelu_slope(g: Operand, x: Operand, weight: Operand) -> Operand:
    if isinstance(g, TensorBase):  # at 0, torch differentiates this no further by the weight
        weight = v.where(v.at_least(x, 0), v.fixed(weight), weight)
    return formulas.prelu_gradient(v, g, x, weight)


@rule("prelu", keep=(0, 1), label="PreluKernelBackward0")
@v.by_gradient(raw=_prelu_by_kernel)
def prelu(node: Applied, g: Array) -> tuple[Array | None, ...]:
    x, weight = node.kept(g, 0), node.kept(g, 1)
    return (
        None if node.edges[0] is None else v.flat_in(_prelu_slope(g, x, weight), x),
        None if node.edges[1] is None else v.fit(formulas.prelu_weight_gradient(v, g, x), node.shapes[1]),
    )


_elu_slope = v.in_one_kernel("elu_grad", v.wide(_formula("elu")))


@rule("elu", keep=(0,), symmetric=True)
def elu(node: Applied, g: Operand) -> Operand:
    return _elu_slope(g, node.kept(g), *node.args)


chained("mish", 0, v.in_one_kernel("mish_grad", v.wide_where_bare(_formula("mish"))))


def _composed_softplus_slope(g: Operand, x: Operand, beta: float, bound: float) -> Operand:
    """Return the gradient in a form in which no exponential overflows; at the bound the second derivative is 0, as in torch."""
    scaled = v.times(x, beta)
    steep = v.above(scaled, bound)
    settled = v.where(steep, 0, v.where(v.at_least(scaled, bound), v.fixed(x), x))
    return v.where(steep, g, v.mul(g, v.sigmoid(v.times(settled, beta))))


_softplus_slope = v.in_one_kernel("softplus_grad", _composed_softplus_slope, v.wide(_formula("softplus")))


@rule("softplus", keep=(0,), symmetric=True)
def softplus(node: Applied, g: Operand) -> Operand:
    return _softplus_slope(g, node.kept(g), *node.args)


chained("logsigmoid", 0, v.in_one_kernel(
    "logsigmoid_grad", _formula("logsigmoid"),
    lambda g, x: v.wide(_logsigmoid_gradient)(g, v.exp(v.neg(v.abs_(x))), x),
), "LogSigmoidBackward0")  # fmt: skip


def _logsigmoid_gradient(g: Array, z: Array, x: Array) -> Array:
    """Return the gradient of logsigmoid at x, given ``z = exp(-|x|)`` in the dtype of x, which torch saves."""
    share = v.div(z, v.plus(z, 1))
    return v.mul(g, v.where(v.less_than(x, 0), v.plus(v.neg(share), 1), share))


chained("hardsigmoid", 0, v.in_one_kernel("hardsigmoid_grad", v.wide(_formula("hardsigmoid"))))
_hardsigmoid = v.Primitive("hardsigmoid")


def _hardswish_slope_on_device(g: Any, x: Any) -> Any:
    """Return the gradient by seven kernels: outside of (-3, 3) the slope is hardsigmoid's value. Ascend's own gradient treats -3 and 3 as
    inside."""
    inside = v.less_than(v.abs_(x), 3)
    return v.mul(g, v.where(inside, v.plus(v.times(x, 1 / 3), 0.5), _hardsigmoid(x)))


_hardswish_slope = v.ways(raw=_hardswish_slope_on_device)(v.wide(_formula("hardswish")))


@rule("hardswish", keep=(0,), symmetric=True)
def hardswish(node: Applied, g: Operand) -> Operand:
    return _hardswish_slope(g, node.kept(g))


def _shrink(op: str) -> None:
    by_kernel = v.in_one_kernel(f"{op}_grad", _formula("shrink"))

    @rule(op, keep=(0,), symmetric=True)
    def outside(node: Applied, g: Operand) -> Operand:
        x, bound = node.kept(g), float(np.asarray(node.args[0]).astype(node.kind.np))  # rounded to half precision, as in torch
        return v.flat_in(by_kernel(g, x, bound), x)


_shrink("softshrink")
_shrink("hardshrink")
chained("tanhshrink", 0, v.wide(_formula("tanhshrink")), "SubBackward0")
chained("softsign", 0, v.wide(_formula("softsign")), "DivBackward0")
