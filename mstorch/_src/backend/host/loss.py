"""Losses on the host."""
from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from ...quiet import quiet, silence
from ..arrays import Array
from ..blocks import by_rows
from ..formulas import loss as formulas
from ..table import define_host
from . import namespace as xp
from ._ufunc import FLOATS, HALF
from .elementwise import numpy_where
from .namespace import by_formula
from .softmax import log_softmax_of


def numpy_cross_entropy(x: Array, target: Array) -> Array:
    """Return the mean negative log-softmax of logits (n, classes) at the targets (n)."""
    return mean_of_rows(log_softmax_of(x, 1), target)


def mean_of_rows(x: Array, target: Array) -> Array:
    """Return minus the mean of the elements of ``x`` (n, classes) at the classes ``target`` (n)."""
    # Subtracted from 0, because the loss of a certain prediction is 0, not -0.
    count = len(target)
    if x.flags.c_contiguous and count <= _FEW:
        chosen = x.reshape(-1).take(target + _starts(count, x.shape[1]))
    else:
        chosen = x[np.arange(count), target]
    return np.array((0.0 - np.add.reduce(chosen, dtype=np.float64)) / count, x.dtype)


_FEW = 1 << 12


@functools.lru_cache(maxsize=64)
def _starts(count: int, length: int) -> Array:
    """Return the places at which the rows of (count, length) begin."""
    return np.arange(0, count * length, length)


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
    if beta == 1:
        return huber(difference, beta)
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
    size = np.abs(difference)
    part = np.minimum(size, difference.dtype.type(delta))
    size -= part * difference.dtype.type(0.5)
    size *= part
    return np.asarray(size)


def huber_slope(difference: Array, g: Array, share: float, delta: float) -> Array:
    """Return ``share * g`` times the derivative of ``huber``: ``difference`` where ``abs(difference) < delta``, else ``delta`` times the
    sign of ``difference``."""
    part, bound = difference.dtype.type(share), difference.dtype.type(delta)
    return numpy_where(np.abs(difference) >= bound, np.copysign(part * bound, difference) * g, difference * part * g)


def numpy_nll(x: Array, target: Array, weights: Array) -> Array:
    """Return ``-weights * x`` at the target classes: (N, C, L), int64 classes (N, L) in range, weights (N, L)."""
    picked = np.take_along_axis(x, target[:, None, :], 1)[:, 0, :]
    return np.negative(silence.run(np.multiply, picked, weights))


numpy_binary_cross_entropy = by_formula(formulas.binary_cross_entropy)


# Reduced losses, which are one kernel on a device each; the stand-in device plays them. Their gradients get x, y and the rest after g.


def _reduced(losses: Callable[..., Array]) -> Callable[..., Array]:
    def loss(x: Array, y: Array, reduction: str, *rest: Any) -> Array:
        with quiet():
            found = losses(x, y, *rest)
            found = found if reduction == "none" else found.sum() if reduction == "sum" else found.mean()
        return np.asarray(found, x.dtype)

    return loss


def _reduced_grad(slopes: Callable[..., Array]) -> Callable[..., Array]:
    """Return the gradient of a reduced loss, given that of each of its terms for ``x``: ``slopes(g, x, y, *rest)``."""

    def slope(g: Array, x: Array, y: Array, reduction: str, *rest: Any) -> Array:
        with quiet():
            found = slopes(g, x, y, *rest)
            return np.asarray(found / x.size if reduction == "mean" else found, x.dtype)

    return slope


def _with_logits(x: Array, y: Array, weight: Array | None, positive: Array | None) -> Array:
    logs = -np.logaddexp(x.dtype.type(0), -x)
    found = (1 - y) * x - (logs if positive is None else logs * (1 + (positive - 1) * y))
    return found if weight is None else found * weight


def _with_logits_slope(g: Array, x: Array, y: Array, weight: Array | None, positive: Array | None) -> Array:
    share, t = special.expit(x), y if positive is None else positive * y
    found = g * ((share - y) if positive is None else (t + 1 - y) * share - t)
    return found if weight is None else found * weight


def _soft_margin_slope(g: Array, x: Array, y: Array) -> Array:
    away = np.exp(-y * x)
    return g * -y * (away / (1 + away))


for _op, _losses, _slopes in (
    ("mse_loss", lambda x, y: squares(x - y), lambda g, x, y: squares_slope(x - y, g, 1)),
    ("smooth_l1_loss", lambda x, y, beta: smooth(x - y, beta), lambda g, x, y, beta: smooth_slope(x - y, g, 1, beta)),
    ("huber_loss", lambda x, y, delta: huber(x - y, delta), lambda g, x, y, delta: huber_slope(x - y, g, 1, delta)),
    ("bce_loss", numpy_binary_cross_entropy, partial(formulas.binary_cross_entropy_gradient, xp)),
    ("bce_logits_loss", _with_logits, _with_logits_slope),
    ("soft_margin_loss", lambda x, y: np.log1p(np.exp(-y * x)), _soft_margin_slope),
):
    define_host(_op, _reduced(_losses), FLOATS, HALF)
    define_host(f"{_op}_grad", _reduced_grad(_slopes), FLOATS, HALF)
define_host("nll", numpy_nll, FLOATS, HALF)
define_host("binary_cross_entropy", numpy_binary_cross_entropy, FLOATS, HALF)
