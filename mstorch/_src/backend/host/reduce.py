"""Reductions on the host."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...quiet import quiet, silence
from ..arrays import Array
from ..halves import narrowed, widened
from ..table import define_direct, define_host
from ._folds import reduced, starts_of_rows
from ._sums import SERIAL, halves_along, sum_along
from ._ufunc import COMPLEX, FEW, FLOATS, HALF, INTS, exp, log, number
from .namespace import over

Dims = tuple[int, ...]


def numpy_sum(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Sum along dimensions; NumPy sums pairwise along the innermost one, torch in blocks."""
    if x.size < SERIAL and dims and x.ndim:
        along = dims if len(dims) < x.ndim else None
        try:
            found = silence.run(np.add.reduce, x, along, x.dtype, None, keepdim)
        except RuntimeError:  # in a finalizer within another kernel
            found = np.add.reduce(x, along, x.dtype, None, keepdim)
        return found if found.__class__ is np.ndarray else np.asarray(found)
    with quiet():
        if not dims or not x.ndim:
            return np.array(x, order="C")
        return np.asarray(sum_along(x, dims if len(dims) < x.ndim else None, keepdim, x.dtype))


def sum_of_small(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Sum integers or bools into int64, cast in blocks: a full int64 copy would be eight times as large."""
    if x.dtype == bool and len(dims) in (0, x.ndim) and not keepdim:
        return np.array(np.count_nonzero(x), np.int64)
    return np.asarray(np.add.reduce(x, axis=dims if len(dims) < x.ndim else None, dtype=np.int64, keepdims=keepdim))


def root_of_squares(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return the root of the sum of squares along dimensions."""
    with quiet():
        return np.asarray(np.sqrt(numpy_sum(x * x, dims, keepdim)))


def numpy_mean(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return the mean along dimensions."""
    found = numpy_sum(x, dims, keepdim)
    count = 1
    for dim in dims if x.ndim else ():
        count *= x.shape[dim]
    return over(found, count)


def numpy_variance(x: Array, dims: Dims, keepdim: bool, divisor: float, rooted: bool) -> Array:
    """Return the sum of squared deviations from the mean divided by ``divisor``, or with ``rooted`` the square root of that.

    Small arrays are computed in float64, as torch always does.
    """
    with quiet():
        away = _distances(x, dims)
        found = np.asarray(np.divide(sum_along(away * away, dims, keepdim), number(divisor, away)))
        if rooted:
            np.sqrt(found, out=found)
        return found.astype(x.dtype, copy=False)


def numpy_var_mean(x: Array, dims: Dims, correction: int, rooted: bool) -> tuple[Array, Array]:
    """Return the variance, or its root, with the count minus ``correction`` as divisor, and the mean; reduced dimensions are kept."""
    count = math.prod(x.shape[d] for d in dims)
    return numpy_variance(x, dims, True, count - correction, rooted), numpy_mean(x, dims, True)


def numpy_log_sum_exp(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return the logarithm of the sum of exponentials along dimensions; SciPy's takes ten times as long for small arrays."""
    largest = reduced(np.maximum, x, dims, True)
    limits = np.finfo(x.dtype)
    with quiet():
        shift = np.minimum(np.maximum(largest, limits.min), limits.max)  # an infinite one would make NaN of equal infinities
        found = np.asarray(log(np.asarray(sum_along(exp(x - shift), dims, keepdim, x.dtype))))
        found += shift.reshape(found.shape)
    return found


def _distances(x: Array, dims: Dims) -> Array:
    if x.size <= FEW:
        x = x.astype(np.float64, copy=False)
    return np.asarray(x - numpy_mean(x, dims, True))


def variance_slope(g: Array, x: Array, dims: Dims, keepdim: bool, divisor: float | None) -> Array:
    """Return the gradient of ``numpy_variance``. If ``divisor`` is None (there are no degrees of freedom), it is infinite, or NaN for
    elements equal to the mean."""
    with quiet():
        away = _distances(x, dims).astype(x.dtype, copy=False)
        if not keepdim:
            g = np.expand_dims(g, dims)
        if divisor is None:
            return g * np.where(away == 0, number(np.nan, away), number(np.inf, away))
        return away * (g * np.divide(number(2, away), number(divisor, away)))


def root_slope(g: Array, root: Array) -> Array:
    """Return the gradient through a square root, zero where the root is zero."""
    with quiet():
        return np.where(root == 0, number(0, root), g / (root + root))


def numpy_all(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return whether all elements along dimensions are true."""
    return reduced(np.logical_and, x, dims or None, keepdim) if x.ndim else x.copy()


def numpy_any(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return whether any element along dimensions is true."""
    return reduced(np.logical_or, x, dims or None, keepdim) if x.ndim else x.copy()


def _extreme(function: np.ufunc, place: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: Array, dims: Dims, keepdim: bool) -> Array:
        if not dims or not x.ndim:
            return np.array(x, order="C")
        if len(dims) == x.ndim and not keepdim and x.size < SERIAL and x.flags.c_contiguous:
            # The place takes a quarter of the time of the value. Of zeros with different signs it is that of any of them.
            found = x.item(place(x))
            if found:
                return np.array(found, x.dtype)
        if dims == (x.ndim - 1,) and x.size >= _MANY and x.dtype.char in "fd" and x.flags.c_contiguous and x.shape[-1] >= _LONG:
            rows = x.reshape(-1, x.shape[-1])
            largest = rows.take(place(rows, 1) + starts_of_rows(*rows.shape))
            if largest.all():
                return largest.reshape((*x.shape[:-1], 1) if keepdim else x.shape[:-1])
        return reduced(function, x, dims, keepdim)

    return kernel


_LONG = 32  # length of a row from which on its place takes less time than its value

define_host("var_mean", numpy_var_mean, FLOATS, HALF)
define_host("log_sum_exp", numpy_log_sum_exp, FLOATS, HALF)
define_host("sum", numpy_sum, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("mean", numpy_mean, (*FLOATS, *COMPLEX), HALF)


def _half_sum(x: Array, dims: Dims, keepdim: bool) -> Array | None:
    if not dims or not x.ndim:
        return None
    with quiet():
        return narrowed(halves_along(x, dims, keepdim), x.dtype)


def _half_mean(x: Array, dims: Dims, keepdim: bool) -> Array | None:
    if not dims or not x.ndim:
        return None
    count = 1
    for dim in dims:
        count *= x.shape[dim]
    with quiet():
        return narrowed(np.asarray(halves_along(x, dims, keepdim) / np.float32(count)), x.dtype)


define_direct("sum", "bfloat16", _half_sum)
define_direct("mean", "bfloat16", _half_mean)
define_host("all", numpy_all, ("bool",))
define_host("any", numpy_any, ("bool",))


def numpy_prod(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return the product along dimensions."""
    with quiet():
        if not dims or not x.ndim:
            return np.array(x, order="C")
        if x.size >= _MANY and x.dtype.char in "fd" and x.flags.c_contiguous:
            found = _product_by_lanes(x, sorted(dims))
            if found is not None:
                return found.reshape([1 if axis in dims else n for axis, n in enumerate(x.shape)] if keepdim else found.shape)
        return reduced(np.multiply, x, dims, keepdim)


_MANY = 1 << 10  # number of elements whose product takes longer than two calls
_LANES_AT_ONCE = 8


def _product_by_lanes(x: Array, dims: list[int]) -> Array | None:
    """Return the product along the last dimensions of a row-major array; None for other dimensions, and for short rows.

    Factors ``apart`` positions apart are multiplied first, because NumPy multiplies contiguous ones one after another."""
    lead = dims[0]
    if dims != list(range(lead, x.ndim)):
        return None
    length = math.prod(x.shape[lead:])
    if length < 256:
        return None
    rows, apart = x.reshape(-1, length), 64 if length < 1 << 13 else 1024
    whole = length - length % apart
    lanes = np.multiply.reduce(rows[:, :whole].reshape(len(rows), -1, apart), axis=1)
    while lanes.shape[1] > _LANES_AT_ONCE:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] * lanes[:, half:]
    found = np.multiply.reduce(lanes, axis=1)
    if whole != length:
        found *= np.multiply.reduce(rows[:, whole:], axis=1)
    return found.reshape(x.shape[:lead])


def _prod(x: Array, dims: Dims, keepdim: bool) -> Array:
    kernel = _product_of_halves if x.dtype.itemsize == 2 and x.dtype.kind != "i" else numpy_prod
    return kernel(x, dims, keepdim)


_LANES = 16  # half-precision numbers per vector of torch's reductions, which use four vectors in parallel


def _product_of_halves(x: Array, dims: Dims, keepdim: bool) -> Array:
    """Return the product, rounded to half precision after each factor, in torch's order: by vectors of contiguous elements."""
    if not dims or not x.ndim or not x.size:
        return numpy_prod(x, dims, keepdim)
    whole = len(dims) == x.ndim
    rows = x.ravel(order="K")[None] if whole else np.moveaxis(x, dims[0], -1)
    by_vectors = x.flags.forc if whole else x.itemsize in (x.strides[dims[0]], x.nbytes // rows.shape[-1])
    blocks = rows.shape[-1] // (4 * _LANES) if by_vectors else 0
    rest = rows[..., blocks * 4 * _LANES :]
    with quiet():
        if blocks:
            parts = _in_turn(rows[..., : blocks * 4 * _LANES].reshape(*rows.shape[:-1], blocks, 2, 2, _LANES), -4)
            lanes = _in_turn(_in_turn(parts, -2), -2)
            rest = np.concatenate([_in_turn(lanes, -1)[..., None], rest], -1)
        found = _in_turn(rest, -1)
    return found.reshape([1 if d in dims else n for d, n in enumerate(x.shape)] if keepdim else found.shape[1:] if whole else found.shape)


def _in_turn(x: Array, dim: int) -> Array:
    """Return the product along a dimension, one factor after another, rounded to the dtype after each."""
    factors = np.moveaxis(x, dim, 0)
    found = factors[0].copy()
    for factor in factors[1:]:
        found = narrowed(widened(found) * widened(factor), x.dtype)
    return found


def _place(function: Any) -> Callable[..., Any]:
    def kernel(x: Array, dim: int, keepdim: bool) -> Array:
        """Return the index of the first extremum along a dimension, int64; NaN counts as extremum."""
        if not x.ndim:
            return np.zeros((), np.int64)
        return np.asarray(function(x, dim, keepdims=keepdim), np.int64)

    return kernel


_NUMBERS = (*FLOATS, *INTS)
_VIA = {**HALF, "bool": "uint8"}
define_host("amax", _extreme(np.maximum, np.ndarray.argmax), _NUMBERS, _VIA)
define_host("amin", _extreme(np.minimum, np.ndarray.argmin), _NUMBERS, _VIA)
define_host("argmax", _place(np.ndarray.argmax), _NUMBERS, _VIA)
define_host("argmin", _place(np.ndarray.argmin), _NUMBERS, _VIA)
define_host("prod", _prod, (*_NUMBERS, *COMPLEX, *HALF))


def numpy_p_norm(x: Array, p: float, dims: Dims, keepdim: bool, share: bool = True) -> Array:
    """Return the p-norm over some dimensions; for a distance (without ``share``) NaN propagates even for p = 0."""
    if not x.size:
        return np.zeros([1 if i in dims else n for i, n in enumerate(x.shape) if keepdim or i not in dims], x.dtype)
    axes = dims if x.ndim else None
    with quiet():
        if p == 2:
            return np.asarray(np.sqrt(sum_along(np.multiply(x, x), axes or (), keepdim)), x.dtype)
        size = np.abs(x)
        if p in (np.inf, -np.inf):
            return np.asarray((np.maximum if p > 0 else np.minimum).reduce(size, axis=axes or (), keepdims=keepdim))
        if p == 0:
            found = np.asarray((size != 0).sum(axis=axes, keepdims=keepdim), x.dtype)
            return found if share else np.where(np.isnan(size).any(axis=axes, keepdims=keepdim), x.dtype.type(np.nan), found)
        found = sum_along(size if p == 1 else np.power(size, number(p, x)), axes or (), keepdim)
        return np.asarray(found if p == 1 else np.power(found, number(1 / p, x)), x.dtype)


define_host("p_norm", numpy_p_norm, FLOATS, HALF)
