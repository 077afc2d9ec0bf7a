"""Losses on the host."""
from __future__ import annotations

import numpy as np

from ..._quiet import quiet
from ..arrays import Array
from ..blocks import by_rows
from ..table import define_host
from ._ufunc import FLOATS, HALF
from .elementwise import numpy_where
from .softmax import log_softmax_of


def numpy_cross_entropy(x: Array, target: Array) -> Array:
    """Return the mean negative log-softmax of logits (n, classes) at the targets (n)."""
    return mean_of_rows(log_softmax_of(x, 1), target)


def mean_of_rows(x: Array, target: Array) -> Array:
    """Return minus the mean of the elements of ``x`` (n, classes) at the classes ``target`` (n)."""
    return np.asarray(-np.add.reduce(x[np.arange(len(target)), target], dtype=np.float64) / len(target)).astype(x.dtype)


def cross_entropy_slope(logs: Array, target: Array, g: Array) -> Array:
    """Return the gradient of cross entropy for logits with log-softmax ``logs``: ``(softmax - onehot) * g / n``."""
    share = g / g.dtype.type(len(target))
    found = np.empty_like(logs)

    def work(start: int, end: int) -> None:
        part = found[start:end]
        np.exp(logs[start:end], out=part)
        part *= share

    with quiet():
        by_rows(work, len(logs), logs.shape[1], 8)
        found[np.arange(len(target)), target] -= share
    return found


define_host("cross_entropy", numpy_cross_entropy, ("float32", "float64"))


# Losses of differences, and their gradients; ``share`` is the factor of one loss in the result.


def squares(difference: Array) -> Array:
    """Return the elementwise square."""
    return difference * difference


def squares_slope(difference: Array, g: Array, share: float) -> Array:
    """Return ``share * g`` times the derivative of ``squares``: ``2 * difference``."""
    return difference * difference.dtype.type(2 * share) * g


def smooth(difference: Array, beta: float) -> Array:
    """Return the smooth L1 loss: ``difference ** 2 / (2 * beta)`` where ``abs(difference) < beta``, else ``abs(difference) - beta / 2``."""
    size, bound = np.abs(difference), difference.dtype.type(beta)
    half = difference.dtype.type(0.5)
    return numpy_where(size >= bound, size - difference.dtype.type(0.5 * beta), size * size * half / bound)


def smooth_slope(difference: Array, g: Array, share: float, beta: float) -> Array:
    """Return ``share * g`` times the derivative of ``smooth``: ``difference / beta`` where ``abs(difference) < beta``, else the sign of
    ``difference``."""
    part, bound = difference.dtype.type(share), difference.dtype.type(beta)
    return numpy_where(np.abs(difference) >= bound, np.copysign(part, difference) * g, difference * part * g / bound)


def huber(difference: Array, delta: float) -> Array:
    """Return the Huber loss: ``difference ** 2 / 2`` where ``abs(difference) <= delta``, else ``delta * (abs(difference) - delta / 2)``."""
    size, bound = np.abs(difference), difference.dtype.type(delta)
    half = difference.dtype.type(0.5)
    return numpy_where(size > bound, (size - difference.dtype.type(0.5 * delta)) * bound, size * size * half)


def huber_slope(difference: Array, g: Array, share: float, delta: float) -> Array:
    """Return ``share * g`` times the derivative of ``huber``: ``difference`` where ``abs(difference) < delta``, else ``delta`` times the
    sign of ``difference``."""
    part, bound = difference.dtype.type(share), difference.dtype.type(delta)
    return numpy_where(np.abs(difference) >= bound, np.copysign(part * bound, difference) * g, difference * part * g)


def numpy_nll(x: Array, target: Array, weights: Array) -> Array:
    """Return ``-weights * x`` at the target classes: (N, C, L), int64 classes (N, L) in range, weights (N, L)."""
    return -(np.take_along_axis(x, target[:, None, :], 1)[:, 0, :] * weights)


def numpy_binary_cross_entropy(x: Array, target: Array) -> Array:
    """Return the binary cross entropy, with logarithms clamped to -100 as in torch."""
    bound = x.dtype.type(-100)
    with quiet():
        return np.asarray((target - x.dtype.type(1)) * np.maximum(np.log1p(-x), bound) - target * np.maximum(np.log(x), bound))


define_host("nll", numpy_nll, FLOATS, HALF)
define_host("binary_cross_entropy", numpy_binary_cross_entropy, FLOATS, HALF)
