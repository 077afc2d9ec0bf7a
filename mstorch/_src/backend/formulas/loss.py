"""Losses of single elements and their gradients, in torch's order of operations; ``ops/losses`` reduces them.

The losses of a difference ``d = input - target`` have gradients for the input, ``name_gradient(xp, g, d, share, *numbers)``, where
``share`` is the factor of one loss in the result: 1, or 1 / n for the mean.
"""
from __future__ import annotations

from .namespace import Namespace, OfDifferences, OfValues, T


def squares_gradient(xp: OfDifferences[T], g: T, d: T, share: float) -> T:
    """Return the gradient of the square of d."""
    return xp.mul(xp.times(d, 2 * share), g)


def smooth(xp: OfDifferences[T], d: T, beta: float) -> T:
    """Return the smooth L1 loss: ``d ** 2 / (2 * beta)`` where ``|d| < beta``, else ``|d| - beta / 2``."""
    size = xp.abs_(d)
    far = xp.at_least(size, beta)
    near = xp.settled(d, far, 0)  # the gradient would be NaN at infinity; it is of d, because |d| has none at 0
    return xp.where(far, xp.plus(size, -0.5 * beta), xp.over(xp.times(xp.mul(near, near), 0.5), beta))


def smooth_gradient(xp: OfDifferences[T], g: T, d: T, share: float, beta: float) -> T:
    """Return the gradient of ``smooth``: ``d / beta`` where ``|d| < beta``, else the sign of d."""
    far = xp.at_least(xp.abs_(d), beta)
    return xp.where(far, xp.mul(xp.with_sign(share, d), g), xp.over(xp.mul(xp.times(d, share), g), beta))


def huber(xp: OfDifferences[T], d: T, delta: float) -> T:
    """Return the Huber loss: ``d ** 2 / 2`` where ``|d| < delta``, else ``delta * (|d| - delta / 2)``."""
    size = xp.abs_(d)
    far = xp.at_least(size, delta)
    near = xp.settled(d, far, 0)
    return xp.where(far, xp.times(xp.plus(size, -0.5 * delta), delta), xp.times(xp.mul(near, near), 0.5))


def huber_gradient(xp: OfDifferences[T], g: T, d: T, share: float, delta: float) -> T:
    """Return the gradient of ``huber``: d where ``|d| < delta``, else delta times the sign of d."""
    far = xp.at_least(xp.abs_(d), delta)
    return xp.where(far, xp.mul(xp.with_sign(share * delta, d), g), xp.mul(xp.times(d, share), g))


def binary_cross_entropy(xp: OfValues[T], x: T, target: T) -> T:
    """Return the binary cross entropy of probabilities; logarithms are at least -100."""
    log_x, log_rest = xp.maximum(xp.log(x), -100), xp.maximum(xp.log1p(xp.neg(x)), -100)
    return xp.sub(xp.mul(xp.plus(target, -1), log_rest), xp.mul(target, log_x))


def binary_cross_entropy_gradient(xp: Namespace[T], g: T, x: T, target: T, least: float = 1e-12) -> T:
    """Return the gradient for x; ``least`` bounds the divisor ``x * (1 - x)``."""
    spread = xp.mul(x, xp.plus(xp.neg(x), 1))
    return xp.mul(g, xp.div(xp.sub(x, target), xp.where(xp.less_than(spread, least), least, spread)))


def binary_cross_entropy_target_gradient(xp: Namespace[T], g: T, x: T) -> T:
    """Return the gradient for the target."""
    return xp.mul(g, xp.sub(xp.log1p(xp.neg(x)), xp.log(x)))
