"""Running sums, products and extremes on the host."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..quiet import quiet
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS

_NUMBERS = (*FLOATS, *INTS)
_VIA = {**HALF, "bool": "uint8"}


def _running(function: Any) -> Any:
    def kernel(x: np.ndarray, dim: int) -> np.ndarray:
        if not x.size or not x.ndim:
            return np.array(x, order="C")
        # torch adds up single precision in double.
        wide = np.dtype(np.float64) if x.dtype == np.float32 else x.dtype
        with quiet():
            return np.asarray(function.accumulate(x, axis=dim, dtype=wide).astype(x.dtype, copy=False), order="C")

    return kernel


def numpy_running_sum(x: np.ndarray, dim: int) -> np.ndarray:
    """Running sums rounded after each addition, for sums whose order shows."""
    with quiet():
        return np.asarray(np.add.accumulate(x, axis=dim), order="C")


def numpy_cummax_indices(x: np.ndarray, dim: int) -> np.ndarray:
    """The index of the largest element so far (the last of equal ones; NaN is largest), int64."""
    return _latest(x, np.maximum, dim)


def numpy_cummin_indices(x: np.ndarray, dim: int) -> np.ndarray:
    """The same of the smallest."""
    return _latest(x, np.minimum, dim)


def _latest(x: np.ndarray, function: Any, dim: int) -> np.ndarray:
    if not x.size or not x.ndim:
        return np.zeros(x.shape, np.int64)
    best = function.accumulate(x, axis=dim)
    hit = (x == best) | (x != x)
    places = np.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - 1 - dim))
    return np.asarray(np.maximum.accumulate(np.where(hit, places, 0), axis=dim), np.int64, order="C")


define_host("cumsum", _running(np.add), (*_NUMBERS, *COMPLEX), HALF)
define_host("cumprod", _running(np.multiply), (*_NUMBERS, *COMPLEX), HALF)
define_host("running_sum", numpy_running_sum, FLOATS, HALF)
define_host("cummax_indices", numpy_cummax_indices, _NUMBERS, _VIA)
define_host("cummin_indices", numpy_cummin_indices, _NUMBERS, _VIA)
define_host("logcumsumexp", _running(np.logaddexp), FLOATS, HALF)
