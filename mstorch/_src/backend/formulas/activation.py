"""Activation functions, ``name(xp, x, *numbers)``, and their gradients, ``name_gradient(xp, g, x, *numbers)``.

Formulas are torch's (ATen's ``Activation`` kernels for the CPU): the same operations in the same order, because each rounds. Conditions
are written so that NaN falls where it does in torch.
"""
from __future__ import annotations

import numpy as np

from .namespace import Namespace, OfValues, T


def relu(xp: OfValues[T], x: T) -> T:
    """Return ``max(0, x)``."""
    return xp.maximum(x, 0)


def relu_gradient(xp: Namespace[T], g: T, result: T) -> T:
    """Return the gradient from the result of ReLU; NaN counts as positive."""
    return xp.where(xp.at_most(result, 0), 0, g)


def hardtanh(xp: OfValues[T], x: T, low: float, high: float) -> T:
    """Return x, kept between the bounds."""
    return xp.minimum(xp.maximum(x, low), high)


def hardtanh_gradient(xp: Namespace[T], g: T, x: T, low: float, high: float) -> T:
    """Return the gradient; both bounds count as outside, NaN as inside."""
    return xp.where(xp.either(xp.at_most(x, low), xp.at_least(x, high)), 0, g)


def leaky_relu(xp: OfValues[T], x: T, slope: float) -> T:
    """Return x where it is positive, else ``slope * x``."""
    return xp.where(xp.above(x, 0), x, xp.times(x, slope))


def leaky_relu_gradient(xp: Namespace[T], g: T, x: T, slope: float) -> T:
    """Return the gradient; NaN counts as not positive."""
    return xp.where(xp.above(x, 0), g, xp.times(g, slope))


def prelu(xp: OfValues[T], x: T, weight: T) -> T:
    """Return x where it is positive, else ``weight * x``; the weight has a shape that broadcasts."""
    return xp.where(xp.above(x, 0), x, xp.mul(x, weight))


def prelu_gradient(xp: Namespace[T], g: T, x: T, weight: T) -> T:
    """Return the gradient for x; NaN counts as not positive."""
    return xp.where(xp.above(x, 0), g, xp.mul(g, weight))


def prelu_weight_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient for the weight, before the sum over the elements that share one."""
    return xp.where(xp.at_least(x, 0), 0, xp.mul(g, x))


def elu(xp: OfValues[T], x: T, alpha: float, scale: float, inner: float) -> T:
    """Return ``scale * x`` where x is positive, else ``alpha * scale * (exp(inner * x) - 1)``; of ELU, SELU and CELU."""
    below = xp.times(xp.expm1(xp.times(xp.minimum(x, 0), inner)), alpha * scale)
    return xp.where(xp.above(x, 0), xp.times(x, scale), below)


def elu_gradient(xp: Namespace[T], g: T, x: T, alpha: float, scale: float, inner: float) -> T:
    """Return the gradient; NaN counts as not positive. At 0, the second derivative is 0."""
    below = xp.exp(xp.times(xp.settled(x, xp.at_least(x, 0), 0), inner))
    return xp.where(xp.above(x, 0), xp.times(g, scale), xp.mul(g, xp.times(below, alpha * scale * inner)))


def _normal_share(xp: Namespace[T], x: T) -> T:
    """Return the standard normal CDF."""
    return xp.times(xp.plus(xp.erf(xp.times(x, 0.7071067811865476)), 1), 0.5)


def gelu(xp: OfValues[T], x: T) -> T:
    """Return x times the standard normal CDF at x."""
    return xp.mul(_normal_share(xp, x), x)


def gelu_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient: g times the CDF plus x times the density."""
    density = xp.times(xp.exp(xp.times(xp.mul(x, x), -0.5)), 0.3989422804014327)
    return xp.mul(g, xp.add(_normal_share(xp, x), xp.mul(x, density)))


_ROOT, _CUBE = 0.7978845608028654, 0.044715  # sqrt(2 / pi), and the factor of the approximation


def _tanh_of_cubic(xp: Namespace[T], x: T) -> T:
    return xp.tanh(xp.times(xp.mul(xp.plus(xp.times(xp.mul(x, x), _CUBE), 1), x), _ROOT))


def gelu_tanh(xp: OfValues[T], x: T) -> T:
    """Return GELU by its approximation with tanh (Hendrycks and Gimpel, 2016)."""
    return xp.mul(xp.times(xp.plus(_tanh_of_cubic(xp, x), 1), 0.5), x)  # halved before x, so that the largest numbers do not overflow


def gelu_tanh_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient of ``gelu_tanh``."""
    inner = _tanh_of_cubic(xp, x)
    slope = xp.times(xp.plus(xp.times(xp.mul(x, x), 3 * _CUBE), 1), _ROOT)
    by_inner = xp.mul(xp.mul(x, xp.plus(xp.neg(xp.mul(inner, inner)), 1)), slope)
    return xp.mul(g, xp.times(xp.add(xp.plus(inner, 1), by_inner), 0.5))


def silu(xp: OfValues[T], x: T) -> T:
    """Return ``x * sigmoid(x)``."""
    return xp.mul(x, xp.sigmoid(x))


def silu_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient of SiLU."""
    share = xp.sigmoid(x)
    return xp.mul(g, xp.mul(share, xp.plus(xp.mul(x, xp.plus(xp.neg(share), 1)), 1)))


def mish(xp: OfValues[T], x: T) -> T:
    """Return ``x * tanh(log(1 + exp(x)))``; where the exponential overflows, tanh is 1."""
    return xp.mul(x, xp.tanh(xp.log1p(xp.exp(x))))


def mish_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient of Mish."""
    inner = xp.tanh(xp.log1p(xp.exp(xp.settled(x, xp.above(x, 30), 30))))  # from 19 on, tanh is 1 in float64
    return xp.mul(g, xp.add(inner, xp.mul(xp.mul(x, xp.sigmoid(x)), xp.plus(xp.neg(xp.mul(inner, inner)), 1))))


def softplus(xp: OfValues[T], x: T, beta: float, bound: float) -> T:
    """Return ``log(1 + exp(beta * x)) / beta``, or x where ``beta * x`` is greater than the bound."""
    steep = xp.times(x, beta)
    return xp.where(xp.above(steep, bound), x, xp.over(xp.log1p(xp.exp(steep)), beta))


def softplus_gradient(xp: Namespace[T], g: T, x: T, beta: float, bound: float) -> T:
    """Return the gradient: g times the sigmoid of ``beta * x``, or g above the bound."""
    scaled = xp.times(x, beta)
    steep = xp.above(scaled, bound)
    growth = xp.exp(xp.settled(scaled, steep, 0))
    return xp.where(steep, g, xp.div(xp.mul(g, growth), xp.plus(growth, 1)))


def logsigmoid(xp: OfValues[T], x: T) -> T:
    """Return ``log(sigmoid(x))``, without overflow."""
    return xp.sub(xp.minimum(x, 0), xp.log1p(xp.exp(xp.neg(xp.abs_(x)))))


def logsigmoid_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient: g times the sigmoid of ``-x``."""
    return xp.mul(g, xp.sigmoid(xp.neg(x)))


def hardsigmoid(xp: OfValues[T], x: T) -> T:
    """Return ``relu6(x + 3) / 6``."""
    return xp.over(hardtanh(xp, xp.plus(x, 3), 0, 6), 6)


_SIXTH = float(np.float32(1 / 6))  # torch uses the float32 constant in double precision too


def hardsigmoid_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return a sixth of g where x is between -3 and 3, else 0."""
    return xp.where(xp.both(xp.above(x, -3), xp.less_than(x, 3)), xp.times(g, _SIXTH), 0)


def hardswish(xp: OfValues[T], x: T) -> T:
    """Return ``x * relu6(x + 3) / 6``."""
    return xp.over(xp.mul(hardtanh(xp, xp.plus(x, 3), 0, 6), x), 6)


def hardswish_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient; the bounds -3 and 3 count as outside."""
    flat, straight = xp.at_most(x, -3), xp.at_least(x, 3)
    x = xp.settled(xp.settled(x, flat, 0), straight, 0)  # an infinite x would make the product NaN
    return xp.where(flat, 0, xp.where(straight, g, xp.mul(g, xp.plus(xp.times(x, 1 / 3), 0.5))))


def softshrink(xp: OfValues[T], x: T, bound: float) -> T:
    """Return x moved towards 0 by the bound; between the bounds a zero of the number's sign, at NaN NaN."""
    moved = xp.where(xp.above(x, 0), xp.plus(x, -bound), xp.plus(x, bound))
    return xp.where(xp.at_most(xp.abs_(x), bound), xp.times(x, 0), moved)


def hardshrink(xp: OfValues[T], x: T, bound: float) -> T:
    """Return x, or 0 between the bounds."""
    return xp.where(xp.at_most(xp.abs_(x), bound), 0, x)


def shrink_gradient(xp: Namespace[T], g: T, x: T, bound: float) -> T:
    """Return the gradient of either shrink: g outside of the bounds, else 0; NaN counts as inside."""
    return xp.where(xp.either(xp.above(x, bound), xp.less_than(x, -bound)), g, 0)


def threshold(xp: OfValues[T], x: T, bound: float, value: float) -> T:
    """Return x where it is above the bound or NaN, else the value."""
    return xp.where(xp.at_most(x, bound), value, x)


def threshold_gradient(xp: Namespace[T], g: T, x: T, bound: float) -> T:
    """Return g where x is above the bound or NaN, else 0."""
    return xp.where(xp.at_most(x, bound), 0, g)


def tanhshrink(xp: OfValues[T], x: T) -> T:
    """Return ``x - tanh(x)``."""
    return xp.sub(x, xp.tanh(x))


def tanhshrink_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return g times the square of ``tanh(x)``."""
    inner = xp.tanh(x)
    return xp.mul(g, xp.mul(inner, inner))


def softsign(xp: OfValues[T], x: T) -> T:
    """Return ``x / (1 + |x|)``."""
    return xp.div(x, xp.plus(xp.abs_(x), 1))


def softsign_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient of softsign, as torch's autograd composes it."""
    size = xp.abs_(x)
    below = xp.plus(size, 1)
    return xp.sub(xp.div(g, below), xp.mul(g, xp.div(xp.div(size, below), below)))


def glu_gradients(xp: Namespace[T], g: T, first: T, second: T) -> tuple[T, T]:
    """Return the gradients of GLU, ``first * sigmoid(second)``, for its two halves."""
    share = xp.sigmoid(second)
    by_first = xp.mul(g, share)
    return by_first, xp.mul(xp.mul(by_first, first), xp.plus(xp.neg(share), 1))
