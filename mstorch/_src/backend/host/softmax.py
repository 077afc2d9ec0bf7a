"""Softmax on the host."""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...quiet import quiet
from ..arrays import Array, within
from ..blocks import LONG, by_rows, share
from ..geometry import rough_sum
from ..halves import BFLOAT16, narrowed, widened
from ..onednn import rows
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import define_host
from ._folds import starts_of_rows
from ._sums import sum_along
from ._ufunc import FEW, FLOATS, HALF, exp, log


def _shifted(x: Array, dim: int) -> Array:
    return np.subtract(x, np.maximum.reduce(x, axis=dim, keepdims=True), order="C")


_INFINITE = 0x7F80  # the bits of bfloat16


def _are_half_rows(x: Array, dim: int) -> bool:
    """Return whether oneDNN's softmax supports an array along this dimension: the last dimension of a contiguous bfloat16 array."""
    return FOUND_HALVES and x.dtype == BFLOAT16 and x.flags.c_contiguous and x.ndim > 0 and dim in (-1, x.ndim - 1) and x.size > FEW


_SMALL = 1 << 11  # number of elements up to which NumPy takes less time than a call of the library
_ONES = np.ones((_SMALL, 1), np.float32)
_COST = 0.6  # nanoseconds per element of oneDNN
_SHORT = 1 << 14  # number of elements up to which one call is fastest


def _in_library(x: Array, dim: int) -> bool:
    """Return whether oneDNN's softmax supports an array along this dimension: the last dimension of a contiguous float32 array."""
    return FOUND and x.size > 0 and x.dtype.char == "f" and x.flags.c_contiguous and x.ndim > 0 and dim in (-1, x.ndim - 1)


def _by_rows(step: Callable[..., None], kind: int, *arrays: Array) -> Array:
    """Run oneDNN's kernel on the rows of arrays of one shape, into a new array."""
    out = np.empty(arrays[0].shape, np.float32)
    if out.ndim == 2 and out.size <= _SHORT:
        step(kind, *arrays, out)
        return out
    flat = [array.reshape(-1, array.shape[-1]) for array in (*arrays, out)]
    share(lambda start, end: step(kind, *(array[start:end] for array in flat)), flat[0].shape[0], flat[0].shape[1] * _COST)
    return out


def _half_slope(kind: int, y: Array, g: Array, dim: int) -> Array | None:
    if kind != rows.SOFTMAX or not (_are_half_rows(y, dim) and _are_half_rows(g, dim)) or y.shape != g.shape:
        return None
    out = np.empty(y.shape, np.uint16)
    flat = [array.view(np.uint16).reshape(-1, y.shape[-1]) for array in (y, g, out)]

    def some(start: int, end: int) -> None:
        rows.softmax_backward(kind, *(array[start:end] for array in flat))

    share(some, flat[0].shape[0], flat[0].shape[1] * _COST)
    if np.maximum.reduce(out & np.uint16(0x7FFF), axis=None) >= _INFINITE:
        return None
    return out.view(BFLOAT16)


def _small_slope(kind: int, y: Array, g: Array) -> Array:
    """Return the gradient of a small array, which NumPy computes in less time than a call of the library takes."""
    ones = _ONES[: y.shape[-1]]
    with quiet():
        if kind == rows.SOFTMAX:
            found = np.subtract(g, (g * y).dot(ones), order="C")
            found *= y
            return found
        found = exp(y)
        found *= g.dot(ones)
        return np.subtract(g, found, found)


def slope_in_rows(kind: int, y: Array, g: Array, dim: int) -> Array | None:
    """Return the gradient of softmax or log-softmax, computed from its result; None unless it is along rows of float32 or bfloat16."""
    if g.dtype == BFLOAT16:
        return _half_slope(kind, y, g, dim)
    if not _in_library(y, dim):
        return None
    if y.size <= _SMALL and g.dtype.char == "f":
        return _small_slope(kind, y, g)
    if not math.isfinite(rough_sum(y)):  # the kernel rounds infinities differently
        return None
    return _by_rows(rows.softmax_backward, kind, y, np.ascontiguousarray(g))


def _in_rows(kernel: Callable[[Array, int], Array]) -> Callable[[Array, int], Array]:
    """Return the kernel, run on rows if the dimension is the last and the arrays are long."""

    def run(x: Array, dim: int) -> Array:
        if x.size < LONG or dim not in (-1, x.ndim - 1) or x.ndim == 1 or not x.flags.c_contiguous:
            return kernel(x, dim)
        flat = x.reshape(-1, x.shape[-1])
        out = np.empty(flat.shape, x.dtype)

        def work(start: int, end: int) -> None:
            out[start:end] = kernel(flat[start:end], 1)

        by_rows(work, flat.shape[0], flat.shape[1], 8)
        return out.reshape(x.shape)

    return run


def numpy_softmax(x: Array, dim: int) -> Array:
    """Return ``exp(x)`` divided by its sum along a dimension."""
    if not x.ndim:
        with quiet():
            return np.asarray(np.exp(x - x))  # 1, or NaN for NaN and infinity
    if not x.size:
        return x.copy()
    with quiet():
        powers = _shifted(x, dim)
        powers = np.exp(powers, out=powers) if x.size > FEW else exp(powers)
        total = sum_along(powers, dim, True)
        if dim in (-1, x.ndim - 1):  # torch divides once in this case
            powers *= np.reciprocal(total)
        else:
            powers /= total
    return powers


def numpy_log_softmax(x: Array, dim: int) -> Array:
    """Return log-softmax, without overflow."""
    if not x.ndim:
        with quiet():
            return np.asarray(x - x)
    if not x.size:
        return x.copy()
    with quiet():
        values = _shifted(x, dim)
        values -= log(sum_along(exp(values), dim, True))
    return values


_softmax_in_rows, _log_softmax_in_rows = _in_rows(numpy_softmax), _in_rows(numpy_log_softmax)
_FEW = 1 << 11  # number of elements up to which NumPy takes less time than a call of the library
_ROUNDED = 1 << 9  # number of elements up to which NumPy, which rounds like torch, takes little more time than the library


_NEAR = 16  # bound of maxima to which the logarithm of the sum is added before subtraction; for larger ones the rounding error is visible


def _logarithms(kind: int, x: Array, out: Array) -> None:
    """Write the log-softmax of rows, from oneDNN's softmax: oneDNN's own log-softmax has an error of 4e-6, eight times torch's."""
    rows.softmax(kind, x, out)
    # argmax takes a quarter of the time of max.
    largest = x.argmax(1)
    largest += starts_of_rows(*x.shape)
    peaks = x.reshape(-1)[largest]
    with quiet():
        logarithms = np.log(out.reshape(-1)[largest])
        if within(peaks, -_NEAR, _NEAR):
            np.subtract(x, (peaks - logarithms)[:, None], out=out)
        else:
            np.subtract(x, peaks[:, None], out=out)
            out += logarithms[:, None]


def _below_largest(x: Array) -> tuple[Array, Array]:
    """Return the rows of a row-major float32 array less the largest number of each, as a matrix, and an empty column."""
    flat = x.reshape(-1, x.shape[-1])
    # argmax takes a fifth of the time of max.
    largest = flat.argmax(1)
    largest += starts_of_rows(*flat.shape)
    column = flat.take(largest)[:, None]
    return np.subtract(flat, column), column


def _softmax_of_few(x: Array) -> Array:
    """Return what ``numpy_softmax`` returns for the rows of a small row-major float32 array."""
    with quiet():
        powers, column = _below_largest(x)
        np.exp(powers, powers, dtype=np.float64, casting="same_kind")
        powers *= np.reciprocal(np.add.reduce(powers, 1, None, column, True), column)
    return powers.reshape(x.shape)


def _log_softmax_of_few(x: Array) -> Array:
    """Return what ``numpy_log_softmax`` returns for the rows of a small row-major float32 array."""
    with quiet():
        values, column = _below_largest(x)
        np.add.reduce(np.exp(values, dtype=np.float64).astype(np.float32), 1, None, column, True)
        values -= np.log(column, column, dtype=np.float64, casting="same_kind")
    return values.reshape(x.shape)


def _log_softmax_of_halves(x: Array, dim: int) -> Array:
    """Return log-softmax, computed in float32; along the last dimension torch also rounds the sum and its logarithm."""
    wide = widened(x)
    if dim not in (-1, x.ndim - 1) or not x.size:
        return narrowed(log_softmax_of(wide, dim), x.dtype)
    with quiet():
        values = _shifted(wide, dim)
        total = narrowed(sum_along(np.exp(values), dim, True), x.dtype)
        values -= widened(narrowed(np.log(widened(total)), x.dtype))
    return narrowed(values, x.dtype)


def log_softmax_of(x: Array, dim: int) -> Array:
    """Return log-softmax along a dimension; by oneDNN for the last one in float32."""
    if x.dtype.itemsize == 2:
        return _log_softmax_of_halves(x, dim)
    if _in_library(x, dim):
        return _by_rows(_logarithms, rows.SOFTMAX, x) if x.size >= _FEW else _log_softmax_of_few(x)
    return _log_softmax_in_rows(x, dim)


def _half_softmax(x: Array, dim: int) -> Array | None:
    """Return softmax in bfloat16; None if a weight is NaN or zero (to which the library flushes values below 1.2e-38)."""
    if not _are_half_rows(x, dim):
        return None
    out = np.empty(x.shape, np.uint16)
    flat = [array.view(np.uint16).reshape(-1, x.shape[-1]) for array in (x, out)]

    def some(start: int, end: int) -> None:
        rows.softmax(rows.SOFTMAX, *(array[start:end] for array in flat))

    share(some, flat[0].shape[0], flat[0].shape[1] * _COST)
    if not np.minimum.reduce(out, axis=None) or np.maximum.reduce(out, axis=None) >= _INFINITE:
        return None
    return out.view(BFLOAT16)


def _softmax_of_halves(x: Array, dim: int) -> Array:
    """Return softmax, computed in float32; along dimensions other than the last torch rounds the exponentials to half precision."""
    found = _half_softmax(x, dim)
    if found is not None:
        return found
    wide = widened(x)
    if not x.size or dim in (-1, x.ndim - 1):
        return narrowed(softmax_of(wide, dim), x.dtype)
    with quiet():
        powers = exp(_shifted(wide, dim))
        total = sum_along(powers, dim, True)
        return narrowed(widened(narrowed(powers, x.dtype)) / total, x.dtype)


def softmax_of(x: Array, dim: int) -> Array:
    """Return softmax along a dimension; by oneDNN for the last one of larger float32 arrays."""
    if x.dtype.itemsize == 2:
        return _softmax_of_halves(x, dim)
    if _in_library(x, dim):
        return _by_rows(rows.softmax, rows.SOFTMAX, x) if x.size > _ROUNDED else _softmax_of_few(x)
    return _softmax_in_rows(x, dim)


define_host("softmax", softmax_of, (*FLOATS, *HALF))
define_host("log_softmax", log_softmax_of, (*FLOATS, *HALF))
