"""Matrix products on the host: NumPy's BLAS for small matrices, oneDNN for float32, SciPy's BLAS (which supports newer processors) for the
rest.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas

from ...quiet import quiet
from ..arrays import Array
from ..blocks import WORTH, share, threads
from ..halves import BFLOAT16, rounded, widened
from ..onednn.gemm import LEAST, gemm, products
from ..onednn.library import FOUND, FOUND_HALVES
from ..table import VIA_HALF, define_direct, define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS

_SMALL = 512
_BLAS = {"f": blas.sgemm, "d": blas.dgemm, "F": blas.cgemm, "D": blas.zgemm}


def _operand(a: Array) -> tuple[Array, int]:
    """Return a matrix for BLAS in column-major order, without a copy if possible, and whether BLAS has to transpose it."""
    if a.flags.c_contiguous:
        return a.T, 1
    if a.flags.f_contiguous:
        return a, 0
    return np.ascontiguousarray(a).T, 1


_RATE, _HALF_RATE = 80.0, 250.0  # multiplications per nanosecond of oneDNN, for float32 and bfloat16


Part = Callable[[int, int], None]


def _split_product(a: Array, b: Array, out: Array, beta: float) -> tuple[Part, int, float]:
    """Split a float32 product along its longer side: return a function that computes a range, the length of the side, and the total cost in
    nanoseconds.
    """
    n, m = out.shape

    def columns(start: int, end: int) -> None:
        gemm(a, b[:, start:end], out[:, start:end], beta)

    def rows(start: int, end: int) -> None:
        gemm(a[start:end], b, out[start:end], beta)

    return columns if m > n else rows, max(n, m), n * m * a.shape[1] / (_RATE if a.dtype.char == "f" else _HALF_RATE)


_UNIT = 16  # number of rows or columns that the kernel processes at once


def two_products(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Return ``a @ b`` and ``c @ d`` as ``product`` computes them; in float32 the threads compute both at the same time."""
    if not (_is_single(a, b) and _is_single(c, d)):
        return product(a, b), product(c, d)
    results = np.empty((a.shape[0], b.shape[1]), np.float32), np.empty((c.shape[0], d.shape[1]), np.float32)
    some, length, cost = _split_product(a, b, results[0], 0.0)
    others, other_length, other_cost = _split_product(c, d, results[1], 0.0)
    if cost + other_cost < WORTH or threads.count == 1:
        some(0, length)
        others(0, other_length)
        return results

    def work(start: int, end: int) -> None:
        for part, size, first, last in ((some, length, 0.0, cost), (others, other_length, cost, cost + other_cost)):
            low, high = (_place(time, first, last, size) for time in (start, end))
            if low < high:
                part(low, high)

    share(work, math.ceil(cost + other_cost), 1.0)
    return results


def _place(time: float, first: float, last: float, size: int) -> int:
    """Return how many of a product's ``size`` rows are done at ``time`` if it is computed from time ``first`` to time ``last``: a multiple
    of ``_UNIT``, or all."""
    if time >= last:
        return size
    return max(0, min(round((time - first) / (last - first) * size / _UNIT) * _UNIT, size))


def _is_single(a: Array, b: Array) -> bool:
    """Return whether oneDNN computes a product: float32, and large enough."""
    return FOUND and a.dtype == b.dtype == np.float32 and a.size * b.shape[1] > _FEW


_FEW = 1 << 18  # number of multiplications up to which NumPy's BLAS is fastest, on this thread only


def product(a: Array, b: Array, into: Array | None = None) -> Array:
    """Multiply (n, m) × (m, p), row-major; the result is added to the row-major array ``into`` if given."""
    if a.shape[0] == b.shape[1] == 1 and a.size > _FEW and a.dtype.char in _BLAS:
        found = _inner(a[0], b[:, 0])
        return found if into is None else np.add(into, found, out=into)
    if _is_single(a, b):
        out = np.empty((a.shape[0], b.shape[1]), np.float32) if into is None else into
        part, length, cost = _split_product(a, b, out, 0.0 if into is None else 1.0)
        share(part, length, cost / length, _UNIT)
        return out
    found = a.dot(b) if a.size * b.shape[1] <= _FEW and a.dtype.char in _BLAS else _by_blas(a, b)
    if a.size == b.size == 1:
        found = found + found.dtype.type(0)  # a sum of one product; NumPy returns the product, which may be -0
    return found if into is None else np.add(into, found, out=into)


def _inner(a: Array, b: Array) -> Array:
    """Return the inner product of long vectors in parts: oneDNN sums sequentially, which loses 1 % over ten million elements."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return np.asarray([[sum(wide(np.dot(a[i : i + _FEW], b[i : i + _FEW])) for i in range(0, a.size, _FEW))]], a.dtype)


def _by_blas(a: Array, b: Array) -> Array:
    blas_gemm: Any = _BLAS.get(a.dtype.char)
    if blas_gemm is None or a.size == 0 or b.size == 0:
        return np.matmul(a, b)
    # The transposed product in column-major order is the product in row-major order.
    left, left_transposed = _operand(b)
    right, right_transposed = _operand(a)
    return blas_gemm(1.0, left, right, trans_a=1 - left_transposed, trans_b=1 - right_transposed).T


def is_few(count: int, n: int, m: int, k: int) -> bool:
    """Return whether NumPy on this thread alone is fastest for ``count`` products (n, k) × (k, m)."""
    return n * m * k <= _FEW and count * n * m * k <= 2 * _FEW


def numpy_bmm(a: Array, b: Array) -> Array:
    """Multiply (…, n, m) × (…, m, p)."""
    if a.dtype.char not in _BLAS or a.size == 0 or b.size == 0:
        with quiet():
            return np.matmul(a, b)
    if a.shape[-1] == 1:
        with quiet():
            found = np.multiply(a, b)  # an outer product
            return found + found.dtype.type(0) if found.shape[-2:] == (1, 1) else found
    lead = a.shape[:-2]
    count = math.prod(lead)
    if (a.size < _SMALL * count and b.size < _SMALL * count) or is_few(count, a.shape[-2], b.shape[-1], a.shape[-1]):
        with quiet():
            return np.matmul(a, b)  # many small products: a call for each costs more than the product
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype)
    if FOUND and a.dtype == np.float32 and out.size * a.shape[-1] >= LEAST:
        _batch_of_singles(a, b, out)
        return out
    blas_gemm: Any = _BLAS[a.dtype.char]
    (left, left_transposed), (right, right_transposed) = _batch(b), _batch(a)
    for target, first, second in zip(out.reshape(-1, *out.shape[-2:]), left, right):
        blas_gemm(1.0, first, second, 0.0, target.T, trans_a=1 - left_transposed, trans_b=1 - right_transposed, overwrite_c=1)
    return out


def _batch_of_singles(a: Array, b: Array, out: Array) -> None:
    """Multiply a batch of float32 matrices; each thread multiplies some of them."""
    if out.ndim > 6:
        a, b, out = (x.reshape(-1, *x.shape[-2:]) for x in (a, b, out))
    if out.shape[0] == 1 and out.ndim > 3:
        a, b, out = a[0], b[0], out[0]
    cost = out.size / out.shape[0] * a.shape[-1] / _RATE
    share(lambda start, end: products(a[start:end], b[start:end], out[start:end]), out.shape[0], cost)


def _batch(a: Array) -> tuple[Array, int]:
    """Return batched matrices for BLAS in column-major order, in one copy if necessary, and whether BLAS has to transpose them."""
    turned = a.swapaxes(-1, -2)
    if turned.flags.c_contiguous and not a.flags.c_contiguous:
        return turned.reshape(-1, *turned.shape[-2:]).swapaxes(-1, -2), 0
    rows = np.ascontiguousarray(a)
    return rows.reshape(-1, *rows.shape[-2:]).swapaxes(-1, -2), 1


def numpy_linear(x: Array, weight: Array) -> Array:
    """Multiply (…, m) by the transpose of (p, m)."""
    if x.ndim == 2:
        return product(x, weight.T)
    return product(np.ascontiguousarray(x).reshape(-1, x.shape[-1]) if x.size else np.zeros((0, x.shape[-1]), x.dtype), weight.T).reshape(
        *x.shape[:-1], weight.shape[0]
    )


def numpy_linear_bias(bias: Array, x: Array, weight: Array) -> Array:
    """Multiply (…, m) by the transpose of (p, m), and add (p,)."""
    if x.ndim < 2 or not x.size or bias.ndim != 1:
        found = numpy_linear(x, weight)
        found += bias
        return found
    rows = x if x.ndim == 2 else np.ascontiguousarray(x).reshape(-1, x.shape[-1])
    if rows.size * weight.shape[0] <= _FEW:
        out = product(rows, weight.T)
        out += bias
    else:
        out = np.empty((rows.shape[0], weight.shape[0]), x.dtype)
        out[:] = bias
        product(rows, weight.T, out)
    return out if x.ndim == 2 else out.reshape(*x.shape[:-1], weight.shape[0])


def _are_halves(*arrays: Array) -> bool:
    """Return whether oneDNN multiplies these: non-empty matrices of bfloat16."""
    return FOUND_HALVES and all(array.dtype == BFLOAT16 and array.ndim > 1 and array.size for array in arrays)


_WORTH = 1 << 13  # number of multiplications from which on oneDNN is used


def wide_product(a: Array, b: Array, into: Array | None = None) -> Array:
    """Multiply bfloat16 bits (n, m) × (m, p) in float32; the result is added to the row-major array ``into`` if given."""
    out = np.empty((a.shape[0], b.shape[1]), np.float32) if into is None else into
    part, length, cost = _split_product(a, b, out, 0.0 if into is None else 1.0)
    share(part, length, cost / length, _UNIT)
    return out


def _half_mm(a: Array, b: Array) -> Array | None:
    if not _are_halves(a, b) or a.size * b.shape[1] < _WORTH or (a.shape[0] == b.shape[1] == 1 and a.size > _FEW):
        return None
    return rounded(wide_product(a.view(np.uint16), b.view(np.uint16)))


_LEAST = 1 << 14  # from this number of multiplications on, each product of a batch is computed by a call of its own


def _half_bmm(a: Array, b: Array) -> Array | None:
    if not _are_halves(a, b):
        return None
    lead, (n, k), m = a.shape[:-2], a.shape[-2:], b.shape[-1]
    count = math.prod(lead)
    if n * k * m < _LEAST and count > 4:
        return None
    out = np.empty((count, n, m), np.float32)
    left, right = (x.view(np.uint16).reshape(count, *x.shape[-2:]) for x in (a, b))

    def some(start: int, end: int) -> None:
        for i in range(start, end):
            gemm(left[i], right[i], out[i])

    share(some, count, n * k * m / _HALF_RATE)
    return rounded(out).reshape(*lead, n, m)


def _half_linear(x: Array, weight: Array) -> Array | None:
    if not _are_halves(x, weight) or x.size * len(weight) < _WORTH:
        return None
    rows = x.view(np.uint16).reshape(-1, x.shape[-1])
    return rounded(wide_product(rows, weight.view(np.uint16).T)).reshape(*x.shape[:-1], weight.shape[0])


def _half_linear_bias(bias: Array, x: Array, weight: Array) -> Array | None:
    if not _are_halves(x, weight) or x.size * len(weight) < _WORTH or bias.ndim != 1 or bias.dtype != BFLOAT16:
        return None
    rows = x.view(np.uint16).reshape(-1, x.shape[-1])
    out = np.empty((rows.shape[0], weight.shape[0]), np.float32)
    out[:] = widened(bias)
    return rounded(wide_product(rows, weight.view(np.uint16).T, out)).reshape(*x.shape[:-1], weight.shape[0])


def numpy_small_matmul(a: Array, b: Array) -> Array:
    """Multiply (…, n, m) × (…, m, p), m > 0, rounding each product and adding in order.

    The result equals torch's products of small matrices bit by bit. oneDNN fuses multiplication and addition, so that its results differ
    noticeably where terms cancel, as in the matrix exponential."""
    with quiet():
        total = a[..., :, :1] * b[..., :1, :]
        for term in range(1, a.shape[-1]):
            total += a[..., :, term : term + 1] * b[..., term : term + 1, :]
    return np.asarray(total, a.dtype)


define_host("small_matmul", numpy_small_matmul, (*FLOATS, *COMPLEX), VIA_HALF)
define_host("mm", product, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("bmm", numpy_bmm, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("linear", numpy_linear, (*FLOATS, *COMPLEX), HALF)
define_host("linear", numpy_linear, INTS, spare=True)


def numpy_cross(x: Array, y: Array, dim: int) -> Array:
    """Return the cross products of vectors along a dimension."""
    with quiet():
        return np.cross(x, y, axis=dim)


define_host("cross", numpy_cross, FLOATS)
define_host("linear_bias", numpy_linear_bias, (*FLOATS, *COMPLEX), HALF)
define_direct("mm", "bfloat16", _half_mm)
define_direct("bmm", "bfloat16", _half_bmm)
define_direct("linear", "bfloat16", _half_linear)
define_direct("linear_bias", "bfloat16", _half_linear_bias)
