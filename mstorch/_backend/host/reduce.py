"""Sums and extremes on the host."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS, number

Dims = tuple[int, ...]


def numpy_sum(x: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """The sum along dimensions; NumPy adds pairwise along the innermost one, like torch in blocks."""
    with np.errstate(all="ignore"):
        if not dims or not x.ndim:
            return np.array(x, order="C")
        return np.asarray(np.add.reduce(x, axis=dims if len(dims) < x.ndim else None, dtype=x.dtype, keepdims=keepdim))


def numpy_mean(x: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """The mean along dimensions."""
    total = numpy_sum(x, dims, keepdim)
    count = 1
    for dim in dims if x.ndim else ():
        count *= x.shape[dim]
    with np.errstate(all="ignore"):
        return np.asarray(total / number(count, x))


def numpy_all(x: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """Whether all hold."""
    return np.asarray(np.logical_and.reduce(x, axis=dims or None, keepdims=keepdim)) if x.ndim else x.copy()


def numpy_any(x: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """Whether any holds."""
    return np.asarray(np.logical_or.reduce(x, axis=dims or None, keepdims=keepdim)) if x.ndim else x.copy()


def _extreme(function: Any) -> Any:
    def kernel(x: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
        if not dims:
            return np.array(x, order="C")
        return np.asarray(function.reduce(x, axis=dims, keepdims=keepdim))

    return kernel


define_host("sum", numpy_sum, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("mean", numpy_mean, (*FLOATS, *COMPLEX), HALF)
define_host("all", numpy_all, ("bool",))
define_host("any", numpy_any, ("bool",))
