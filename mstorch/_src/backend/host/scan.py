"""Cumulative sums, products and extrema on the host."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import quiet
from ..arrays import Array
from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS

_NUMBERS = (*FLOATS, *INTS)
_LEAST = 1 << 12
_VIA = {**HALF, "bool": "uint8"}


def _running(function: np.ufunc) -> Callable[..., Any]:
    def kernel(x: Array, dim: int) -> Array:
        if not x.size or not x.ndim:
            return np.array(x, order="C")
        # torch accumulates float32 in float64.
        wide = np.dtype(np.float64) if x.dtype == np.float32 else x.dtype
        with quiet():
            found = np.asarray(function.accumulate(x, axis=dim, dtype=wide).astype(x.dtype, copy=False), order="C")
        first: Any = (slice(None),) * (dim % x.ndim) + (0,)
        if function is np.add and found.dtype.kind in "fc" and (x.size < _LEAST or not found[first].all()):
            found += found.dtype.type(0)  # sums begin with 0, so that that of -0 is 0; of few elements this takes less time than the look
        return found

    return kernel


def numpy_complex_logcumsumexp(x: Array, dim: int) -> Array:
    """Return the logarithm of cumulative sums of complex exponentials, computed in double precision."""
    out = np.empty(x.shape, x.dtype)
    if not x.size or not x.ndim:
        out[...] = x
        return out
    entries, results = np.moveaxis(x.astype(np.complex128), dim, 0), np.moveaxis(out, dim, 0)
    total = np.full(entries.shape[1:], complex(-np.inf, 0))
    with quiet():
        for entry, result in zip(entries, results[..., None]):
            total = log_of_sum(entry, total)
            result[..., 0] = total
    return out


def log_of_sum(a: Array, b: Array) -> Array:
    """Return ``log(exp(a) + exp(b))`` of complex numbers, with torch's results for infinite ones and NaN."""
    smaller = a.real < b.real
    low, high = np.where(smaller, a, b), np.where(smaller, b, a)
    ratio = np.exp(low - high)
    re, im = ratio.real, ratio.imag
    # log(1 + ratio), accurate for a small ratio.
    found = high + (0.5 * np.log1p(re * (2 + re) + im * im) + 1j * np.arctan2(im, 1 + re))
    infinite = ~np.isfinite(low.real) & (low.real == high.real)
    if infinite.any():
        found = np.where(infinite, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), found)
    return np.where(np.isnan(a) | np.isnan(b), complex(np.nan, np.nan), found)


def numpy_running_sum(x: Array, dim: int) -> Array:
    """Return cumulative sums rounded after each addition, where the order of additions matters."""
    with quiet():
        return np.asarray(np.add.accumulate(x, axis=dim), order="C")


def numpy_cummax_indices(x: Array, dim: int) -> Array:
    """Return the index of the running maximum (the last one of equal elements; NaN is largest), int64."""
    return _latest(x, np.maximum, dim)


def numpy_cummin_indices(x: Array, dim: int) -> Array:
    """Return the index of the running minimum (the last one of equal elements; NaN is smallest), int64."""
    return _latest(x, np.minimum, dim)


def _latest(x: Array, function: np.ufunc, dim: int) -> Array:
    if not x.size or not x.ndim:
        return np.zeros(x.shape, np.int64)
    best = function.accumulate(x, axis=dim)
    hit = (x == best) | (x != x)
    places = np.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - 1 - dim))
    return np.asarray(np.maximum.accumulate(np.where(hit, places, 0), axis=dim), np.int64, order="C")


_running_sum = _running(np.add)


_WIDE = 64  # number of columns whose sum takes longer than two calls


def _down_columns(x: Array, dim: int) -> Array:
    """Return cumulative sums of float32 along a dimension before the last, row by row: NumPy goes down one column after another."""
    entries, out = np.moveaxis(x, dim, 0), np.empty(x.shape, np.float32)
    total = np.zeros(entries.shape[1:])
    with quiet():
        for entry, result in zip(entries, np.moveaxis(out, dim, 0)):
            total += entry
            result[...] = total
    return out


def numpy_cumsum(x: Array, dim: int) -> Array:
    """Return cumulative sums; for float32 rows, two rows at a time."""
    if x.size < _LEAST or x.dtype != np.float32 or x.ndim < 2 or not x.flags.c_contiguous:
        return np.asarray(_running_sum(x, dim))
    if dim not in (-1, x.ndim - 1):
        return np.asarray(_running_sum(x, dim)) if x.size < _WIDE * x.shape[dim] else _down_columns(x, dim)
    # Each sum depends on the previous one. As real and imaginary parts of complex numbers, two chains run in parallel.
    rows = x.reshape(-1, x.shape[-1])
    half = (len(rows) + 1) // 2
    pairs = np.zeros((half, rows.shape[1]), np.complex128)
    pairs.real = rows[:half]
    pairs.imag[: len(rows) - half] = rows[half:]
    out = np.empty(rows.shape, np.float32)
    with quiet():
        np.add.accumulate(pairs, axis=1, out=pairs)
        out[:half], out[half:] = pairs.real, pairs.imag[: len(rows) - half]
    return out.reshape(x.shape)


define_host("cumsum", numpy_cumsum, (*_NUMBERS, *COMPLEX), HALF)
define_host("cumprod", _running(np.multiply), (*_NUMBERS, *COMPLEX), HALF)
define_host("running_sum", numpy_running_sum, FLOATS, HALF)
define_host("cummax_indices", numpy_cummax_indices, _NUMBERS, _VIA)
define_host("cummin_indices", numpy_cummin_indices, _NUMBERS, _VIA)
_real_logcumsumexp = _running(np.logaddexp)
define_host(
    "logcumsumexp",
    lambda x, dim: numpy_complex_logcumsumexp(x, dim) if x.dtype.kind == "c" else _real_logcumsumexp(x, dim),
    (*FLOATS, *COMPLEX), HALF,
)
