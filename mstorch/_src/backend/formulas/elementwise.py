"""Gradients of elementwise functions of one argument, ``gradient(xp, g, value)``; the value is the argument, or the result where that is
cheaper, as in torch. Complex numbers are differentiated as in torch: the gradient times the conjugate of the derivative.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .namespace import OfSlopes, T

Derivative = Callable[[OfSlopes[T], Any], Any]


class Slope(NamedTuple):
    """The gradient of a function, the name of its node, and whether it is computed from the result, not from the argument."""

    node: str
    of_result: bool
    gradient: Callable[[Any, Any, Any], Any]


def _times(derivative: Derivative[Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda xp, g, value: xp.mul(g, xp.conj(derivative(xp, value)))


def _over(divisor: Derivative[Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda xp, g, value: xp.div(g, xp.conj(divisor(xp, value)))


def _one_minus_square(xp: OfSlopes[T], x: T) -> T:
    return xp.plus(xp.neg(xp.mul(x, x)), 1)


def _one_plus_square(xp: OfSlopes[T], x: T) -> T:
    return xp.plus(xp.mul(x, x), 1)


def _acosh_derivative(xp: OfSlopes[T], x: T) -> T:
    if xp.is_complex(x):
        return xp.mul(xp.rsqrt(xp.plus(x, -1)), xp.rsqrt(xp.plus(x, 1)))
    return xp.rsqrt(xp.plus(xp.mul(x, x), -1))


def _sigmoid_gradient(xp: OfSlopes[T], g: T, y: T) -> T:
    y = xp.conj(y)
    return xp.mul(xp.mul(g, xp.plus(xp.neg(y), 1)), y)


def _exp2_gradient(xp: OfSlopes[T], g: T, y: T) -> T:
    return xp.times(xp.mul(g, xp.conj(y)), math.log(2))


def _sinc_gradient(xp: OfSlopes[T], g: T, x: T) -> T:
    """Return the gradient of ``sin(pi x) / (pi x)``; at 0, torch defines no second derivative either."""
    turned = xp.times(x, math.pi)
    below = xp.mul(turned, x)
    slope = xp.div(xp.sub(xp.mul(turned, xp.cos(turned)), xp.sin(turned)), below)
    return xp.where(xp.is_zero(below), 0, xp.mul(g, xp.conj(slope)))


def _sqrt_gradient(xp: OfSlopes[T], g: T, y: T) -> T:
    return xp.div(g, xp.times(xp.conj(y), 2))


def _rsqrt_gradient(xp: OfSlopes[T], g: T, y: T) -> T:
    return xp.mul(xp.times(g, -0.5), xp.scalar_power(xp.conj(y), 3))


def _reciprocal_gradient(xp: OfSlopes[T], g: T, y: T) -> T:
    y = xp.conj(y)
    return xp.neg(xp.mul(g, xp.mul(y, y)))


_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


def _gauss(xp: OfSlopes[T], x: T, factor: float) -> T:
    """Return ``factor * exp(-x^2)``."""
    return xp.times(xp.exp(xp.neg(xp.mul(x, x))), factor)


def _ndtr_gradient(xp: OfSlopes[T], g: T, x: T) -> T:
    return xp.mul(xp.times(g, 1 / _ROOT_TWO_PI), xp.exp(xp.times(xp.mul(x, x), -0.5)))


SLOPES: dict[str, Slope] = {}


def _slope(op: str, *parts: Any) -> None:
    SLOPES[op] = Slope(*parts)


_slope("exp", "ExpBackward0", True, _times(lambda xp, y: y))
_slope("exp2", "Exp2Backward0", True, _exp2_gradient)
_slope("expm1", "Expm1Backward0", True, _times(lambda xp, y: xp.plus(y, 1)))
_slope("tan", "TanBackward0", True, _times(_one_plus_square))
_slope("tanh", "TanhBackward0", True, _times(_one_minus_square))
_slope("sigmoid", "SigmoidBackward0", True, _sigmoid_gradient)
_slope("sqrt", "SqrtBackward0", True, _sqrt_gradient)
_slope("rsqrt", "RsqrtBackward0", True, _rsqrt_gradient)
_slope("reciprocal", "ReciprocalBackward0", True, _reciprocal_gradient)
_slope("sin", "SinBackward0", False, _times(lambda xp, x: xp.cos(x)))
_slope("cos", "CosBackward0", False, _times(lambda xp, x: xp.neg(xp.sin(x))))
_slope("sinh", "SinhBackward0", False, _times(lambda xp, x: xp.cosh(x)))
_slope("cosh", "CoshBackward0", False, _times(lambda xp, x: xp.sinh(x)))
_slope("asin", "AsinBackward0", False, _times(lambda xp, x: xp.rsqrt(_one_minus_square(xp, x))))
_slope("acos", "AcosBackward0", False, _times(lambda xp, x: xp.neg(xp.rsqrt(_one_minus_square(xp, x)))))
_slope("asinh", "AsinhBackward0", False, _times(lambda xp, x: xp.rsqrt(_one_plus_square(xp, x))))
_slope("acosh", "AcoshBackward0", False, _times(_acosh_derivative))
_slope("log", "LogBackward0", False, _over(lambda xp, x: x))
_slope("log1p", "Log1PBackward0", False, _over(lambda xp, x: xp.plus(x, 1)))
_slope("log2", "Log2Backward0", False, _over(lambda xp, x: xp.times(x, math.log(2))))
_slope("log10", "Log10Backward0", False, _over(lambda xp, x: xp.times(x, math.log(10))))
_slope("atan", "AtanBackward0", False, _over(_one_plus_square))
_slope("atanh", "AtanhBackward0", False, _over(_one_minus_square))
_slope("sinc", "SincBackward0", False, _sinc_gradient)
_slope("erf", "ErfBackward0", False, _times(lambda xp, x: _gauss(xp, x, _TWO_BY_ROOT_PI)))
_slope("erfc", "ErfcBackward0", False, _times(lambda xp, x: _gauss(xp, x, -_TWO_BY_ROOT_PI)))
_slope("erfinv", "ErfinvBackward0", True, _times(lambda xp, y: xp.times(xp.exp(xp.mul(y, y)), 1 / _TWO_BY_ROOT_PI)))
_slope("ndtr", "SpecialNdtrBackward0", False, _ndtr_gradient)
_slope("ndtri", "SpecialNdtriBackward0", True, _times(lambda xp, y: xp.times(xp.exp(xp.times(xp.mul(y, y), 0.5)), _ROOT_TWO_PI)))
_slope("entr", "SpecialEntrBackward0", False, _times(lambda xp, x: xp.plus(xp.neg(xp.log(x)), -1)))


def logit_gradient(xp: OfSlopes[T], g: T, x: T, low: float | None, high: float | None) -> T:
    """Return the gradient of ``log(x / (1 - x))``; 0 outside of the bounds, without bounds NaN outside of [0, 1]."""
    slope = xp.div(g, xp.mul(xp.plus(x, 0), xp.plus(xp.neg(x), 1)))
    if low is None or high is None:
        return xp.where(xp.either(xp.less_than(x, 0), xp.above(x, 1)), math.nan, slope)
    return xp.where(xp.either(xp.less_than(x, low), xp.above(x, high)), 0, slope)


def logaddexp_gradient(xp: OfSlopes[T], g: T, x: T, other: T, factor: float = 1.0) -> T:
    """Return the gradient of ``log(exp(x) + exp(other))`` for x; with the factor log(2), of that in base 2."""
    gap = xp.sub(other, x)
    return xp.div(g, xp.conj(xp.plus(xp.exp(gap if factor == 1 else xp.times(gap, factor)), 1)))


def hypot_gradient(xp: OfSlopes[T], g: T, x: T, result: T) -> T:
    """Return the gradient of the length of (x, y) for x."""
    return xp.mul(g, xp.div(x, result))
