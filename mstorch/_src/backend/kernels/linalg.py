"""Batched factorizations of dense matrices by NumPy: rows compute values only, gradients are in ``_ops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from ...quiet import quiet
from ..arrays import Array
from ..raw import Raw, from_numpy
from ..table import COMPLEX, FLOATS, define

NO_KERNEL = "MindSpore has no right CPU kernel: its own is missing, refuses empty matrices or crashes the process (2.10)"
DTYPES = FLOATS + COMPLEX

Arrays = tuple[Array, ...]


def given(*arrays: Any) -> tuple[Raw, ...]:
    """Return arrays as MindSpore tensors that own their memory."""
    return tuple(from_numpy(np.array(array, order="C")) for array in arrays)


def loop(core: Callable[..., Arrays], *operands: Array) -> Arrays:
    """Apply ``core`` to each matrix of a batch; all operands (…, n, m) have one batch shape."""
    batch = operands[0].shape[:-2]
    if not batch:
        return core(*operands)
    count = int(np.prod(batch))
    flat = [operand.reshape((count, *operand.shape[-2:])) for operand in operands]
    if count == 0:
        shapes = core(*(np.ones(operand.shape[-2:], operand.dtype) for operand in operands))
        return tuple(np.zeros((*batch, *np.shape(item)), np.asarray(item).dtype) for item in shapes)
    parts = [core(*(operand[i] for operand in flat)) for i in range(count)]
    return tuple(np.stack(items).reshape((*batch, *np.shape(items[0]))) for items in zip(*parts))


def lapack_of(name: str, array: Array, library: Any = lapack) -> Any:
    """Return the LAPACK (or BLAS) routine for an array's dtype."""
    return getattr(library, {"f": "s", "d": "d", "F": "c", "D": "z"}[array.dtype.char] + name)


_SMALL, _MANY = 32, 16


def _many_small(array: Array) -> bool:
    """Return whether vectorized steps over the batch are faster than a LAPACK call per matrix; NaN and inf go to LAPACK."""
    return max(array.shape[-2:]) <= _SMALL and array.size > _MANY * array.shape[-1] * array.shape[-2] > 0 and np.isfinite(array).all()


def _lu(array: Array) -> Arrays:
    rows, columns = array.shape
    if not np.isfinite(array).all():  # OpenBLAS leaves the column of a NaN pivot unchanged, as if the pivot were zero
        return _lu_of_many(array)
    if array.size == 0:
        return array.copy(), np.zeros(min(rows, columns), np.int32), np.int32(0)
    factors, pivots, info = lapack_of("getrf", array)(array)
    return factors, (pivots + 1).astype(np.int32), np.int32(info)


def numpy_lu_factor(raw: Raw) -> tuple[Raw, ...]:
    """Return L and U in one matrix, the pivots (from 1), and the position of the first zero pivot (from 1; 0 if there is none)."""
    array = raw.asnumpy()
    return given(*(_lu_of_many(array) if _many_small(array) else loop(_lu, array)))


def _lu_of_many(array: Array) -> Arrays:
    """Return the LU factors of many small matrices, computed column by column for all matrices at once."""
    *batch, rows, columns = array.shape
    work = array.reshape((-1, rows, columns)).copy()
    every, size = np.arange(len(work)), min(rows, columns)
    with quiet():
        pivots, info = _eliminated(work, every, size)
    return work.reshape(array.shape), pivots.reshape((*batch, size)), info.reshape(batch)


def _eliminated(work: Array, every: Array, size: int) -> tuple[Array, Array]:
    pivots, info = np.empty((len(work), size), np.int32), np.zeros(len(work), np.int32)
    for k in range(size):
        column = work[:, k:, k]
        weight = np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)
        other = k + weight.argmax(1)
        pivots[:, k] = other + 1
        held = work[every, other]
        work[every, other], work[:, k] = work[:, k], held
        pivot = work[:, k, k]
        zero = pivot == 0
        info[zero & (info == 0)] = k + 1
        below = work[:, k + 1 :, k]
        below /= np.where(zero, 1, pivot)[:, None]  # LAPACK leaves a column of zeros unchanged
        work[:, k + 1 :, k + 1 :] -= below[:, :, None] * work[:, k, None, k + 1 :]
    return pivots, info


def _gesv(matrix: Array, right: Array) -> Arrays:
    """Solve one system by its LU factors; the solution of a singular system contains infinities and NaN."""
    factors, pivots, info = _lu(matrix)
    right = right.copy()
    for row, other in enumerate(pivots - 1):
        right[[row, other]] = right[[other, row]]
    with quiet():
        return _substituted(factors, _substituted(factors, right, False, True), True, False), info


def numpy_solve(matrix: Raw, right: Raw) -> tuple[Raw, ...]:
    """Return the solution of ``matrix @ X = right`` (one batch shape), and the position of each matrix's first zero pivot."""
    a, b = matrix.asnumpy(), right.asnumpy()
    if np.isfinite(a).all():
        try:
            return given(np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32))
        except np.linalg.LinAlgError:
            pass
    return given(*loop(_gesv, a, b))


def _potrf(array: Array) -> Arrays:
    if not np.isfinite(array).all():
        return _factored(array)
    factor, info = lapack_of("potrf", array)(array, lower=True, clean=True)
    return factor, np.int32(info)


def _factored(array: Array) -> Arrays:
    """Compute the Cholesky factor of a matrix column by column, for matrices with NaN or infinities, which OpenBLAS would accept as
    positive-definite. Returns the factor and LAPACK's info.
    """
    work = np.tril(array)
    with quiet():
        for k in range(len(work)):
            known = work[k, :k].conj()
            pivot = work[k, k].real - (work[k, :k] @ known).real
            work[k, k] = pivot
            if not pivot > 0:
                return work, np.int32(k + 1)
            work[k, k] = np.sqrt(pivot)
            column = work[k + 1 :, k] - work[k + 1 :, :k] @ known
            work[k + 1 :, k] = column / work[k, k] if np.isfinite(pivot) else np.nan
    return work, np.int32(0)


def numpy_cholesky(raw: Raw) -> tuple[Raw, ...]:
    """Return L, and for each matrix the order of the first leading minor that is not positive-definite (0 if all are)."""
    array = raw.asnumpy()
    if np.isfinite(array).all():
        try:
            return given(np.linalg.cholesky(array), np.zeros(array.shape[:-2], np.int32))
        except np.linalg.LinAlgError:
            pass
    return given(*loop(_potrf, array))


def numpy_qr(raw: Raw, mode: str) -> tuple[Raw, ...]:
    """Return Q and R; for the mode "r" an empty Q."""
    array = raw.asnumpy()
    *batch, rows, columns = array.shape
    if array.size == 0:
        inner = rows if mode == "complete" else min(rows, columns)
        right = np.zeros((*batch, inner, columns), array.dtype)
        left = np.zeros((*batch, rows, inner), array.dtype)
        left[...] = np.eye(rows, inner, dtype=array.dtype)
        return given(np.zeros(0, array.dtype) if mode == "r" else left, right)
    if mode == "r":
        return given(np.zeros(0, array.dtype), np.linalg.qr(array, "r"))
    return given(*np.linalg.qr(array, mode))


def _converged(function: Callable[[Array], Arrays], array: Array) -> Arrays:
    """Run an iterative decomposition; matrices for which it does not converge give NaN."""
    try:
        return tuple(function(array))
    except np.linalg.LinAlgError:
        if array.ndim > 2:
            return loop(lambda one: _converged(function, one), array)
        return tuple(np.full_like(part, np.nan) for part in function(np.ones_like(array)))


def numpy_svd(raw: Raw, full: bool) -> tuple[Raw, ...]:
    """Return U, S and Vh."""
    array = raw.asnumpy()
    lost = ~np.isfinite(array).all((-2, -1))
    if not lost.any():
        return given(*_converged(lambda array: np.linalg.svd(array, full_matrices=full), array))
    # LAPACK's gesdd, as NumPy ships it, does not return from matrices with infinities.
    parts = _converged(lambda array: np.linalg.svd(array, full_matrices=full), np.where(lost[..., None, None], array.dtype.type(0), array))
    for part in parts:
        part[lost] = np.nan
    return given(*parts)


def numpy_svdvals(raw: Raw) -> Raw:
    """Return the singular values, in descending order."""
    return given(*_converged(lambda array: (np.linalg.svd(array, compute_uv=False),), raw.asnumpy()))[0]


def numpy_eigh(raw: Raw, triangle: str) -> tuple[Raw, ...]:
    """Return ascending eigenvalues and eigenvectors of Hermitian matrices, reading one triangle."""
    return given(*_converged(lambda array: np.linalg.eigh(array, triangle), raw.asnumpy()))


def numpy_eig(raw: Raw) -> tuple[Raw, ...]:
    """Return eigenvalues and eigenvectors, always complex."""
    array = raw.asnumpy()
    kind = np.result_type(array.dtype, np.complex64)
    values, vectors = _converged(np.linalg.eig, array)
    return given(values.astype(kind), vectors.astype(kind))


def _trtrs(matrix: Array, right: Array, upper: bool, unit: bool) -> Arrays:
    if right.size == 0 or matrix.size == 0:
        return (right.copy(),)
    # Not LAPACK's trtrs, which leaves the right-hand side unchanged if the diagonal has a zero.
    return (lapack_of("trsm", matrix, blas)(1.0, matrix, right, lower=not upper, diag=unit),)


def numpy_solve_triangular(matrix: Raw, right: Raw, upper: bool, unit: bool) -> Raw:
    """Return the solution of ``matrix @ X = right`` for a triangular matrix."""
    a, b = matrix.asnumpy(), right.asnumpy()
    if _many_small(a) and b.size:
        return given(_substituted(a, b, upper, unit))[0]
    return given(*loop(lambda a, b: _trtrs(a, b, upper, unit), a, b))[0]


def _substituted(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Solve many small triangular systems, row by row for all systems at once."""
    found, size = b.copy(), a.shape[-1]
    for k in reversed(range(size)) if upper else range(size):
        known = slice(k + 1, size) if upper else slice(0, k)
        found[..., k, :] -= (a[..., k, known, None] * found[..., known, :]).sum(-2)
        if not unit:
            with quiet():
                found[..., k, :] /= a[..., k, k, None]
    return found


def _geqrf(array: Array) -> Arrays:
    if array.size == 0:
        return array.copy(), np.zeros(min(array.shape), array.dtype)
    factors, scales, _, _ = lapack_of("geqrf", array)(array)
    return factors, scales


def numpy_geqrf(raw: Raw) -> tuple[Raw, ...]:
    """Return R, with the Householder vectors of Q below the diagonal, and the scales of these vectors."""
    return given(*loop(_geqrf, raw.asnumpy()))


def _ldl(array: Array, hermitian: bool) -> Arrays:
    if array.size == 0:
        return array.copy(), np.zeros(len(array), np.int32), np.int32(0)
    routine = lapack_of("hetrf" if hermitian and array.dtype.kind == "c" else "sytrf", array)
    factors, pivots, info = routine(array, lower=True)
    return np.tril(factors), pivots.astype(np.int32), np.int32(info)


def numpy_ldl_factor(raw: Raw, hermitian: bool) -> tuple[Raw, ...]:
    """Return L and D in one matrix, LAPACK's pivots, and the position of the first zero of D (from 1; 0 if there is none)."""
    return given(*loop(lambda a: _ldl(a, hermitian), raw.asnumpy()))


def _ldl_matrices(factors: Array, pivots: Array, hermitian: bool) -> Array:
    """Return ``L @ D @ L.mH`` from LAPACK's packed lower form with row interchanges."""
    size = len(factors)
    pivots = pivots.reshape(-1)
    lower, diagonal = np.eye(size, dtype=factors.dtype), np.zeros_like(factors)
    k = 0
    while k < size:
        step = np.eye(size, dtype=factors.dtype)
        width = 1 if pivots[k] > 0 else 2
        other = abs(int(pivots[k + width - 1])) - 1
        here = k + width - 1
        exchange = np.arange(size)
        exchange[[here, other]] = exchange[[other, here]]
        step[k + width :, k : k + width] = factors[k + width :, k : k + width]
        lower = lower @ np.eye(size, dtype=factors.dtype)[exchange] @ step
        diagonal[k, k] = factors[k, k]
        if width == 2:
            diagonal[k + 1, k + 1], diagonal[k + 1, k] = factors[k + 1, k + 1], factors[k + 1, k]
            diagonal[k, k + 1] = factors[k + 1, k].conj() if hermitian else factors[k + 1, k]
        k += width
    return lower @ diagonal @ (lower.conj().T if hermitian else lower.T)


def numpy_ldl_solve(factors: Raw, right: Raw, pivots: Raw, hermitian: bool) -> Raw:
    """Return the solution of ``A @ X = right`` from the LDL factors of A."""
    rows = pivots.asnumpy()[..., None]

    def core(packed: Array, exchanged: Array, b: Array) -> Arrays:
        return _gesv(_ldl_matrices(packed, exchanged, hermitian), b)[:1] if b.size else (b.copy(),)

    return given(*loop(core, factors.asnumpy(), rows, right.asnumpy()))[0]


for _name, _function in {
    "linalg_lu_factor": numpy_lu_factor, "linalg_solve": numpy_solve, "linalg_cholesky": numpy_cholesky,
    "linalg_qr": numpy_qr, "linalg_svd": numpy_svd, "linalg_svdvals": numpy_svdvals, "linalg_eigh": numpy_eigh,
    "linalg_eig": numpy_eig, "linalg_solve_triangular": numpy_solve_triangular,
    "linalg_geqrf": numpy_geqrf, "linalg_ldl_factor": numpy_ldl_factor, "linalg_ldl_solve": numpy_ldl_solve,
}.items():  # fmt: skip
    define(_name, cpu=_function, dtypes=DTYPES, numpy_reason=NO_KERNEL)
