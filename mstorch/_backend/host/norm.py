"""Normalisation on the host."""
from __future__ import annotations

import numpy as np

from ..table import define_host
from ._ufunc import FLOATS, HALF, number


def standardised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean 0 and variance 1 over some dimensions; the mean, the biased variance and one over the deviation."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    with np.errstate(all="ignore"):
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
