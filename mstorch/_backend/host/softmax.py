"""Softmax on the host."""
from __future__ import annotations

import numpy as np

from ..quiet import quiet
from ..table import define_host
from ._ufunc import FLOATS, HALF


def _shifted(x: np.ndarray, dim: int) -> np.ndarray:
    return np.subtract(x, np.maximum.reduce(x, axis=dim, keepdims=True), order="C")


def numpy_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """``exp(x)`` divided by its sum along a dimension."""
    if not x.ndim:
        return np.ones_like(x)
    if not x.size:
        return x.copy()
    with quiet():
        powers = _shifted(x, dim)
        np.exp(powers, out=powers)
        powers /= np.add.reduce(powers, axis=dim, keepdims=True)
    return powers


def numpy_log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """The logarithm of softmax, without overflow."""
    if not x.ndim:
        return np.zeros_like(x)
    if not x.size:
        return x.copy()
    with quiet():
        values = _shifted(x, dim)
        values -= np.log(np.add.reduce(np.exp(values), axis=dim, keepdims=True))
    return values


define_host("softmax", numpy_softmax, FLOATS, HALF)
define_host("log_softmax", numpy_log_softmax, FLOATS, HALF)
