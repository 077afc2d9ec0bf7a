"""Normalisation on the host."""
from __future__ import annotations

import numpy as np

from ..quiet import quiet
from ..table import define_host
from ._blocks import by_rows
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
    flat = np.ascontiguousarray(x).reshape(int(np.prod(x.shape[:begin])), -1)
    scale, shift = weight.reshape(-1), bias.reshape(-1)
    out = np.empty(flat.shape, x.dtype)

    def work(start: int, end: int) -> None:
        found = standardised(flat[start:end], (1,), eps)[0]
        with quiet():
            found *= scale
            np.add(found, shift, out=out[start:end])

    by_rows(work, flat.shape[0], flat.shape[1], 8)
    return out.reshape(x.shape)


define_host("layer_norm", numpy_layer_norm, FLOATS, HALF)


def _wide(x: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that statistics of channels are over, and the shape that goes along the channels."""
    return (0, *range(2, x.ndim)), (1, -1, *([1] * (x.ndim - 2)))


def numpy_batch_norm_train(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> tuple[np.ndarray, ...]:
    """(N, C, *) normalised by its own statistics, with the mean and the biased variance (C) of each channel."""
    if not x.size:
        return x.copy(), np.zeros(weight.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    axes, wide = _wide(x)
    out, mean, var = np.empty(x.shape, x.dtype), np.empty(weight.shape, x.dtype), np.empty(weight.shape, x.dtype)

    def work(start: int, end: int) -> None:
        found, middle, spread, _ = standardised(x[:, start:end], axes, eps)
        mean[start:end], var[start:end] = middle.reshape(-1), spread.reshape(-1)
        with quiet():
            found *= weight[start:end].reshape(wide)
            np.add(found, bias[start:end].reshape(wide), out=out[:, start:end])

    by_rows(work, x.shape[1], x.size // x.shape[1], 8)
    return out, mean, var


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
    length = x.size // x.shape[1]
    count = number(length, x)
    out, total, by_normal = np.empty(x.shape, x.dtype), np.empty(weight.shape, x.dtype), np.empty(weight.shape, x.dtype)

    def work(start: int, end: int) -> None:
        part, slope = slice(start, end), g[:, start:end]
        with quiet():
            inverse = number(1, x) / np.sqrt(var[part] + number(eps, x))
            normal = x[:, part] - mean[part].reshape(wide)
            normal *= inverse.reshape(wide)
            total[part], by_normal[part] = np.add.reduce(slope, axis=axes), np.add.reduce(slope * normal, axis=axes)
            normal *= (by_normal[part] / count).reshape(wide)
            inner = np.subtract(slope, normal, out=normal)
            inner -= (total[part] / count).reshape(wide)
            np.multiply(inner, (weight[part] * inverse).reshape(wide), out=out[:, part])

    by_rows(work, x.shape[1], length, 10)
    return out, by_normal, total


def numpy_running_average(running: np.ndarray, batch: np.ndarray, factor: float, scale: float) -> np.ndarray:
    """``(1 - factor) * running + factor * scale * batch``."""
    return np.asarray(running * number(1 - factor, running) + batch * number(scale, running) * number(factor, running))


define_host("batch_norm_train", numpy_batch_norm_train, FLOATS, HALF)
define_host("batch_norm_eval", numpy_batch_norm_eval, FLOATS, HALF)
define_host("batch_norm_grad", numpy_batch_norm_grad, FLOATS, HALF)
define_host("running_average", numpy_running_average, FLOATS, HALF)
