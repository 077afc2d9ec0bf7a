"""Normalisation on the host."""
from __future__ import annotations

import numpy as np

from ..quiet import quiet
from ..table import define_host
from ._ufunc import FLOATS, HALF, number


def standardised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean 0 and variance 1 over some dimensions; the mean, the biased variance and one over the deviation."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    with quiet():
        mean = np.add.reduce(x, axis=axes, keepdims=True) / number(count, x)
        centred = x - mean
        var = np.add.reduce(centred * centred, axis=axes, keepdims=True) / number(count, x)
        inverse = number(1, x) / np.sqrt(var + number(eps, x))
        centred *= inverse
    return centred, mean, var, inverse


def numpy_layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, begin: int, eps: float) -> np.ndarray:
    """Normalised over the dimensions from ``begin`` on, times weight plus bias."""
    if not x.size:
        return x.copy()
    found = standardised(x, tuple(range(begin, x.ndim)), eps)[0]
    found *= weight
    found += bias
    return found


define_host("layer_norm", numpy_layer_norm, FLOATS, HALF)


def _wide(x: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that statistics of channels are over, and the shape that goes along the channels."""
    return (0, *range(2, x.ndim)), (1, -1, *([1] * (x.ndim - 2)))


def numpy_batch_norm_train(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> tuple[np.ndarray, ...]:
    """(N, C, *) normalised by its own statistics, with the mean and the biased variance (C) of each channel."""
    if not x.size:
        return x.copy(), np.zeros(weight.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    axes, wide = _wide(x)
    found, mean, var, _ = standardised(x, axes, eps)
    found *= weight.reshape(wide)
    found += bias.reshape(wide)
    return np.asarray(found, order="C"), mean.reshape(-1), var.reshape(-1)


def numpy_batch_norm_eval(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, mean: np.ndarray, var: np.ndarray, eps: float
) -> np.ndarray:
    """(N, C, *) normalised by given statistics."""
    wide = _wide(x)[1]
    with quiet():
        scale = weight / np.sqrt(var + number(eps, x))
        found = np.multiply(x, scale.reshape(wide))
        found += (bias - mean * scale).reshape(wide)
        return np.asarray(found, order="C")


def numpy_batch_norm_grad(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, var: np.ndarray, eps: float
) -> tuple[np.ndarray, ...]:
    """The gradients of ``batch_norm_train`` for input, weight and bias, from the statistics that it gave."""
    axes, wide = _wide(x)
    count = number(x.size // x.shape[1], x)
    with quiet():
        inverse = number(1, x) / np.sqrt(var + number(eps, x))
        normal = (x - mean.reshape(wide)) * inverse.reshape(wide)
        total, by_normal = np.add.reduce(g, axis=axes), np.add.reduce(g * normal, axis=axes)
        inner = g - (total / count).reshape(wide) - normal * (by_normal / count).reshape(wide)
        return np.asarray(inner * (weight * inverse).reshape(wide), order="C"), by_normal, total


def numpy_running_average(running: np.ndarray, batch: np.ndarray, factor: float, scale: float) -> np.ndarray:
    """``(1 - factor) * running + factor * scale * batch``."""
    return np.asarray(running * number(1 - factor, running) + batch * number(scale, running) * number(factor, running))


define_host("batch_norm_train", numpy_batch_norm_train, FLOATS, HALF)
define_host("batch_norm_eval", numpy_batch_norm_eval, FLOATS, HALF)
define_host("batch_norm_grad", numpy_batch_norm_grad, FLOATS, HALF)
define_host("running_average", numpy_running_average, FLOATS, HALF)
