"""Matrix products on the host, by SciPy's BLAS: NumPy's own does not know newer processors and is several times slower."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas

from ..table import define_host
from ._ufunc import COMPLEX, FLOATS, HALF, INTS

_SMALL = 256
_GEMM = {"f": blas.sgemm, "d": blas.dgemm, "F": blas.cgemm, "D": blas.zgemm}


def _operand(a: np.ndarray) -> tuple[np.ndarray, int]:
    """A matrix as BLAS takes it, in columns, without a copy where that is possible; and whether it is to be transposed."""
    if a.flags.c_contiguous:
        return a.T, 1
    if a.flags.f_contiguous:
        return a, 0
    return np.ascontiguousarray(a).T, 1


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, m) × (m, p), row-major."""
    gemm: Any = _GEMM.get(a.dtype.char)
    if gemm is None or a.size == 0 or b.size == 0:
        return np.matmul(a, b)
    # The transposed product in columns is the product in rows.
    left, left_transposed = _operand(b)
    right, right_transposed = _operand(a)
    return gemm(1.0, left, right, trans_a=1 - left_transposed, trans_b=1 - right_transposed).T


def numpy_bmm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(…, n, m) × (…, m, p)."""
    if a.dtype.char not in _GEMM or a.size == 0 or b.size == 0:
        return np.matmul(a, b)
    lead = a.shape[:-2]
    if a.size < _SMALL * np.prod(lead) and b.size < _SMALL * np.prod(lead):
        return np.matmul(a, b)  # many small products: a call for each costs more than the product
    gemm: Any = _GEMM[a.dtype.char]
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype)
    (left, left_transposed), (right, right_transposed) = _batch(b), _batch(a)
    for target, first, second in zip(out.reshape(-1, *out.shape[-2:]), left, right):
        gemm(1.0, first, second, 0.0, target.T, trans_a=1 - left_transposed, trans_b=1 - right_transposed, overwrite_c=1)
    return out


def _batch(a: np.ndarray) -> tuple[np.ndarray, int]:
    """Matrices as BLAS takes them, in columns, and whether they are to be transposed; one copy of all where they need it."""
    turned = a.swapaxes(-1, -2)
    if turned.flags.c_contiguous and not a.flags.c_contiguous:
        return turned.reshape(-1, *turned.shape[-2:]).swapaxes(-1, -2), 0
    rows = np.ascontiguousarray(a)
    return rows.reshape(-1, *rows.shape[-2:]).swapaxes(-1, -2), 1


def numpy_linear(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(…, m) × (p, m) transposed."""
    if x.ndim == 2:
        return product(x, weight.T)
    return product(np.ascontiguousarray(x).reshape(-1, x.shape[-1]) if x.size else np.zeros((0, x.shape[-1]), x.dtype), weight.T).reshape(
        *x.shape[:-1], weight.shape[0]
    )


def numpy_linear_bias(bias: np.ndarray, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(…, m) × (p, m) transposed, plus (p,)."""
    found = numpy_linear(x, weight)
    found += bias
    return found


define_host("mm", product, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("bmm", numpy_bmm, (*FLOATS, *INTS, *COMPLEX), HALF)
define_host("linear", numpy_linear, (*FLOATS, *COMPLEX), HALF)
define_host("linear_bias", numpy_linear_bias, (*FLOATS, *COMPLEX), HALF)
