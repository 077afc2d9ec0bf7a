"""Softmax on the host."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..quiet import quiet
from ..table import define_host
from ._blocks import LONG, by_rows
from ._ufunc import FLOATS, HALF


def _shifted(x: np.ndarray, dim: int) -> np.ndarray:
    return np.subtract(x, np.maximum.reduce(x, axis=dim, keepdims=True), order="C")


def _in_rows(kernel: Callable[[np.ndarray, int], np.ndarray]) -> Callable[[np.ndarray, int], np.ndarray]:
    """The kernel, long arrays in rows where it goes along the last dimension."""

    def run(x: np.ndarray, dim: int) -> np.ndarray:
        if x.size < LONG or dim not in (-1, x.ndim - 1) or x.ndim == 1 or not x.flags.c_contiguous:
            return kernel(x, dim)
        flat = x.reshape(-1, x.shape[-1])
        out = np.empty(flat.shape, x.dtype)

        def work(start: int, end: int) -> None:
            out[start:end] = kernel(flat[start:end], 1)

        by_rows(work, flat.shape[0], flat.shape[1], 8)
        return out.reshape(x.shape)

    return run


@_in_rows
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


@_in_rows
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
