"""Pooling on the host: each position in the window is one strided slice of the input; slices are compared or summed."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..arrays import Array
from ..blocks import share
from ..geometry import rough_sum
from ..halves import narrowed, widened
from ..kernels.sliding_windows import adaptive_table, outside_windows, strided_table
from ..onednn import pooling
from ..onednn.library import FOUND
from ..table import Function, define_direct, define_host
from ._slices import padded, slices
from ._sums import sum_along
from ._ufunc import FLOATS, HALF, INTS
from .namespace import over
from .resample import windows

Sizes = tuple[int, ...]


def _pick(
    x: Array, table: Array, out: Sizes, outside: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Return the maximum of each window (the first of equal ones, or the last NaN), and its position in the input."""
    n, c = x.shape[:2]
    if not x.size or not table.shape[1]:
        return np.zeros((n, c, *out), x.dtype), np.zeros((n, c, *out), np.int64)
    lowest = lowest_of(x)
    columns = windows(x, table, lowest)
    place = columns.argmax(2)
    if outside is not None or (table < 0).any() and (columns.max(2) == lowest).any():  # a maximum as low as the padding
        hit = (columns == columns.max(2, keepdims=True)) & (table >= 0)
        place = np.where(hit.any(2), hit.argmax(2), place)
    if x.dtype.kind == "f":
        place = last_nan(columns, place)
    index = np.asarray(table[place, np.arange(table.shape[1])], np.int64, order="C")
    values = np.take_along_axis(np.ascontiguousarray(x).reshape(n, c, -1), index, 2)
    if outside is not None:
        empty, first = outside
        values, index = np.where(empty, x.dtype.type(lowest), values), np.where(empty, first, index)
    return values.reshape(n, c, *out), index.reshape(n, c, *out)


def last_nan(columns: Array, place: Array) -> Array:
    """Return the position of the last NaN of each column (along dimension 2), or ``place`` if there is none."""
    missing = np.isnan(columns)
    if not missing.any():
        return place
    return np.where(missing.any(2), columns.shape[2] - 1 - missing[:, :, ::-1].argmax(2), place)


def lowest_of(x: Array) -> float:
    """Return the lowest value of a dtype."""
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


_COST = 0.5  # nanoseconds per element of oneDNN


def _finite(x: Array) -> bool:
    """Return whether oneDNN's pooling supports the arrays: row-major float32 without NaN and infinity, which oneDNN ignores."""
    if not (FOUND and x.dtype == np.float32 and x.flags.c_contiguous):
        return False
    return math.isfinite(rough_sum(x))


def max_pool_slope(x: Array, g: Array, *geometry: Sizes) -> Array | None:
    """Return the gradient of ``max_pool`` for its input; None if oneDNN has no kernel for it."""
    if g.dtype != np.float32 or not _finite(x):
        return None
    found, slope, done = np.empty(x.shape, x.dtype), np.ascontiguousarray(g), []

    def some(start: int, end: int) -> None:
        part = slice(start, end)
        done.append(pooling.max_pool_backward(x[part], slope[part], found[part], geometry))

    share(some, len(x), 2 * _COST * x[0].size)
    return found if all(done) else None


def _largest(x: Array, geometry: tuple[Sizes, ...]) -> Array | None:
    if not _finite(x):
        return None
    found, done = np.empty((*x.shape[:2], *geometry[-1]), x.dtype), []

    def some(start: int, end: int) -> None:
        done.append(pooling.max_pool(x[start:end], found[start:end], geometry))

    share(some, len(x), _COST * x[0].size)
    return found if all(done) else None


def numpy_max_pool(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes) -> Array:
    """Return the maximum of each window: (N, C, *spatial) → (N, C, *out)."""
    if not x.size or 0 in out:
        return np.zeros((*x.shape[:2], *out), x.dtype)
    found = _largest(x, (kernel, stride, padding, dilation, out))
    if found is not None:
        return found
    whole = padded(x, kernel, stride, padding, dilation, out, lowest_of(x))
    for key in slices(kernel, stride, dilation, out):
        found = np.array(whole[key], order="C") if found is None else np.maximum(found, whole[key], out=found)
    assert found is not None
    return found


def largest_places(
    x: Array, y: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> list[Array]:
    """Return, for each position in the window, a mask of the windows whose maximum is at this position: the first of equal elements, or the
    last NaN."""
    low = lowest_of(x)
    whole = padded(x, kernel, stride, padding, dilation, out, low)
    inside = None
    if whole is not x and (y == low).any():  # a maximum as low as the padding
        inside = padded(np.ones((1, 1, *x.shape[2:]), bool), kernel, stride, padding, dilation, out, False)
    missing = np.isnan(y) if y.dtype.kind == "f" else None
    if missing is not None and not missing.any():
        missing = None
    taken: Array | None = None
    places = []
    keys = list(slices(kernel, stride, dilation, out))
    for key in keys:
        hit = whole[key] == y
        if inside is not None:
            hit &= inside[key]
        if taken is None:
            taken = hit.copy()
        else:
            hit &= ~taken
            taken |= hit
        places.append(hit)
    if missing is not None:
        for key, hit in zip(reversed(keys), reversed(places)):
            hit |= missing & np.isnan(whole[key])
            missing = missing & ~hit
    return places


def numpy_max_pool_indices(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: Sizes
) -> tuple[Array, Array]:
    """Return the maximum of each window and its position in the flattened spatial dimensions (int64)."""
    numbers = (x.shape[2:], kernel, stride, padding, dilation, out)
    return _pick(x, strided_table(*numbers), out, outside_windows(*numbers))


def numpy_adaptive_max_pool(x: Array, out: Sizes) -> tuple[Array, Array]:
    """Return the maxima of windows that divide the input into ``out`` parts, and their positions."""
    return _pick(x, adaptive_table(x.shape[2:], out), out)


def numpy_avg_pool(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None
) -> Array:
    """Return the mean of each window: (N, C, *spatial) → (N, C, *out)."""
    if not x.size or 0 in out:
        return np.zeros((*x.shape[:2], *out), x.dtype)
    if kernel == stride and not any(padding) and x.flags.c_contiguous and tuple(map(operator.mul, out, kernel)) == x.shape[2:]:
        return over(_sums_of_parts(x, out), math.prod(kernel) if divisor is None else divisor)  # the windows are the parts of the input
    total = window_sums(x, kernel, stride, padding, out)
    return np.asarray(total / window_counts(x.shape[2:], kernel, stride, padding, out, include_pad, divisor).astype(x.dtype), x.dtype)


def window_sums(x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes) -> Array:
    """Return the sum of each window: (N, C, *spatial) → (N, C, *out)."""
    ones = (1,) * len(kernel)
    whole = padded(x, kernel, stride, padding, ones, out, 0)
    total = None
    for key in slices(kernel, stride, ones, out):
        total = np.array(whole[key], order="C") if total is None else np.add(total, whole[key], out=total)
    assert total is not None
    return total


def window_counts(
    sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, out: Sizes, include_pad: bool, divisor: int | None
) -> Array:
    """Return the divisor of each window sum, int64."""
    if divisor is None and not any(padding) and all((o - 1) * s + k <= n for n, k, s, o in zip(sizes, kernel, stride, out)):
        divisor = math.prod(kernel)
    counts = np.full((), 1 if divisor is None else divisor, np.int64)
    for n, k, s, p, o in zip(sizes, kernel, stride, padding, out) if divisor is None else ():
        start = np.arange(o) * s - p
        stop = np.minimum(start + k, n + p)
        counts = counts[..., None] * (stop - start if include_pad else np.minimum(stop, n) - np.maximum(start, 0))
    return counts


def _sums_of_parts(x: Array, out: Sizes) -> Array:
    """Return the sums of windows of equal size, of which there are ``out`` along each dimension."""
    if all(o == 1 for o in out):
        return np.asarray(sum_along(x.reshape(*x.shape[:2], -1), 2)).reshape(*x.shape[:2], *out)
    found = x
    for axis, o in enumerate(out, 2):
        count = found.shape[axis] // o
        parts = found.reshape(*found.shape[:axis], o, count, *found.shape[axis + 1 :])
        # NumPy adds rows fast, and numbers within short rows one by one.
        found = parts.dot(np.ones(count, x.dtype)) if axis == x.ndim - 1 else np.add.reduce(parts, axis=axis + 1)
    return np.asarray(found)


def numpy_adaptive_avg_pool(x: Array, out: Sizes) -> Array:
    """Return the means of windows that divide the input into ``out`` parts: (N, C, *spatial) → (N, C, *out)."""
    if not x.size or 0 in out:
        return np.zeros((*x.shape[:2], *out), x.dtype)
    sizes = x.shape[2:]
    if not any(n % o for n, o in zip(sizes, out)):  # windows of equal size
        return np.asarray(_sums_of_parts(x, out) / x.dtype.type(math.prod(sizes) // math.prod(out)), x.dtype)
    table = adaptive_table(sizes, out)
    total = windows(x, table).sum(2, dtype=x.dtype)
    return np.asarray(total / (table >= 0).sum(0).astype(x.dtype)).reshape(*x.shape[:2], *out)


def in_samples(function: Function) -> Function:
    """Return a kernel of half-precision images that computes in float32, a few samples at a time: a whole copy would need twice the memory
    of the images. Arrays among the function's arguments are (N, …), its result is one array (N, …), or None."""

    def call(*args: Any) -> Array | None:
        first = args[0]
        step = max(1, _BLOCK * len(first) // max(first.size, 1))
        if step >= len(first):
            return None
        out: Array | None = None
        for start in range(0, len(first), step):
            own = slice(start, start + step)
            part = function(*(widened(arg[own]) if arg.__class__ is np.ndarray else arg for arg in args))
            if part is None:
                return None
            if out is None:
                out = np.empty((len(first), *part.shape[1:]), first.dtype)
            out[own] = narrowed(part, first.dtype)
        return out

    return call


_BLOCK = 1 << 16  # number of elements that are computed in float32 at a time

define_host("max_pool", numpy_max_pool, (*FLOATS, *INTS), HALF)
define_host("max_pool_indices", numpy_max_pool_indices, (*FLOATS, *INTS), HALF)
define_host("adaptive_max_pool", numpy_adaptive_max_pool, (*FLOATS, *INTS), HALF)
define_host("avg_pool", numpy_avg_pool, FLOATS, HALF)
define_host("adaptive_avg_pool", numpy_adaptive_avg_pool, FLOATS, HALF)
for _op, _function in (("max_pool", numpy_max_pool), ("avg_pool", numpy_avg_pool), ("adaptive_avg_pool", numpy_adaptive_avg_pool)):
    for _name in HALF:
        define_direct(_op, _name, in_samples(_function))
