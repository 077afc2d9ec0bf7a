"""torch.linalg: LU, pseudo-inverse, least squares, norms and products, based on the factorizations."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Number, within
from ...backend.errors import not_for
from ...backend.table import kernel
from ...core.dtype import dtype, int64
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase, array_of, meta_tensor, tensor_of
from ...tape.composite import record
from ...tape.moving import beside
from ...tape.operands import computed
from ...tape.ways import ways
from ...tape.windows import no_view
from .._autocast import FLOAT32_ON_CPU, FLOAT32_ON_DEVICES
from .._dispatch import broadcast_shape, finish_exactly, finish_recorded, finish_safely, readable, type_word, wrap_dim
from .._forms import Forms
from .._fresh_out import all_underivable, underivable
from .._named import node_called
from .._numbers import not_differentiable, refuse_tracked
from .._operation import operation
from ..elementwise.compare import nan_to_num, where
from ..memory.creation import eye, zeros
from ..reduce import reduce
from ..reduce.vector_norm import refuse_norm_dtype, vector_norm
from ..shape import views
from ..shape.join import cat
from ..shape.shape import tril, triu
from .linalg_factor import (
    LinAlgError,
    attach,
    batch_of,
    by_columns,
    check_floating,
    check_info,
    check_matrix,
    check_square,
    check_system,
    is_vector,
    qr,
    solve_matrices,
    triangular,
)  # fmt: skip
from .linalg_spectral import eigh_pair, svd_parts, svdvals

PUBLIC_IN = "linalg"

_lu, _ldl, _ldl_solve = (kernel(f"linalg_{name}") for name in ("lu_factor", "ldl_factor", "ldl_solve"))


# LU


def _lu_backward(
    gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], permutation: TensorBase
) -> tuple[TensorBase]:
    (gradient,), (factors,) = gradients, outputs
    if gradient is None:
        return (None,)
    rows, columns = factors._ms_shape[-2:]
    size = min(rows, columns)
    lower, upper = factors[..., :size, :size], factors[..., :size, :size]
    gl, gu = tril(gradient[..., :size, :size], -1), triu(gradient[..., :size, :size])
    unit = tril(lower, -1) + eye(size, dtype=factors._ms_dtype, device=factors.device)
    whole = triu(upper)
    strict, rest = unit.mH @ gl, gu @ whole.mH
    below = above = None
    if columns > rows:
        above = gradient[..., :, size:]
        strict = strict - above @ factors[..., :, size:].mH
    elif rows > columns:
        below = gradient[..., size:, :]
        rest = rest - factors[..., size:, :].mH @ below
    inner = tril(strict, -1) + triu(rest)
    found = triangular(unit.mH, inner, True, True)
    found = triangular(whole, found.mH, True).mH
    if above is not None:
        found = cat((found, triangular(unit.mH, above, True, True)), -1)
    if below is not None:
        found = cat((found, triangular(whole, below.mH, True).mH), -2)
    return (permutation @ found,)


@ways(absent=lambda pivots, rows, like: meta_tensor((*pivots._ms_shape[:-1], rows, rows), like))
def permutation_of(pivots: TensorBase, rows: int, like: dtype) -> TensorBase:
    """Return the permutation matrices P of ``P @ L @ U`` from LAPACK's pivots."""
    exchanges = array_of(pivots)
    batch = exchanges.shape[:-1]
    count = math.prod(batch)
    every, flat = np.arange(count), exchanges.reshape((count, exchanges.shape[-1]))
    order = np.tile(np.arange(rows), (count, 1))
    for i in range(flat.shape[1]):
        other = flat[:, i] - 1
        order[every, i], order[every, other] = order[every, other], order[every, i]
    matrices = np.zeros((count, rows, rows), like.np)
    matrices[every[:, None], order, np.arange(rows)] = 1
    return tensor_of(matrices.reshape((*batch, rows, rows)))


def _factored(A: TensorBase, name: str) -> tuple[Any, Any, Any, Any]:
    """Return LU, pivots, P and LAPACK's info codes."""
    check_floating(A, name)
    if len(A._ms_shape) < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A._ms_shape)} instead")
    found, pivots, info = computed(_lu, A)
    permutation = beside(permutation_of(pivots, A._ms_shape[-2], A._ms_dtype), A)
    factors = attach("LinalgLuFactorExBackward0", _lu_backward, (A,), (by_columns(found),), permutation, kept=())[0]
    return factors, pivots, permutation, info


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


_ZERO_PIVOT = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
_ZERO_IN_D = "D[{0},{0}] is zero: ldl_solve would divide by it."  # where torch fails with an internal assertion


def lu_factor(A: TensorBase, *, pivot: bool = True, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return L (below the diagonal) and U in one matrix, and the pivots, counted from 1."""
    _check_pivot(pivot)
    factors, pivots, _, info = _factored(A, "torch.lu_factor")
    check_info(info, _ZERO_PIVOT, "torch.linalg.lu_factor", RuntimeError)
    return finish_exactly(return_types.linalg_lu_factor((factors, pivots)), out)


def lu_factor_ex(
    A: TensorBase, *, pivot: bool = True, check_errors: bool = False, out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return ``lu_factor``, and for each matrix the position of the first zero pivot (from 1), or 0 if there is none."""
    _check_pivot(pivot)
    factors, pivots, _, info = _factored(A, "torch.lu_factor")
    if check_errors:
        check_info(info, _ZERO_PIVOT, "torch.linalg.lu_factor_ex", RuntimeError)
    return finish_exactly(return_types.linalg_lu_factor_ex((factors, pivots, info)), out)


def triangles(factors: TensorBase) -> tuple[Any, Any]:
    rows, columns = factors._ms_shape[-2:]
    size = min(rows, columns)
    factors = factors.contiguous()
    lower = tril(factors[..., :size], -1) + eye(rows, size, dtype=factors._ms_dtype, device=factors.device)
    return lower, triu(factors[..., :size, :])


@node_called("LinalgLuBackward0")
def lu(A: TensorBase, *, pivot: bool = True, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return P, L and U with ``A = P @ L @ U``."""
    _check_pivot(pivot)
    factors, _, permutation, _ = _factored(A, "linalg.lu")
    return finish_exactly(return_types.linalg_lu((permutation, *triangles(factors))), out)


def _check_factors(LU: TensorBase, pivots: TensorBase, B: TensorBase, left: bool) -> None:
    """Raise torch's errors unless the shapes of factors, pivots and right-hand side match."""
    name, size = "linalg.lu_solve", LU._ms_shape[-1]
    if LU._ms_dtype is not B._ms_dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {type_word(LU._ms_dtype)} and B of type "
            f"{type_word(B._ms_dtype)} instead"
        )
    if pivots._ms_dtype.name != "int32":
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_matrix(B, name, "B")
    if B._ms_shape[-2 if left else -1] != size:
        rows, columns = B._ms_shape[-2:]
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({size}x{size} and {rows}x{columns})"
        )
    if pivots._ms_shape[-1:] != (size,):
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots._ms_shape != LU._ms_shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots._ms_shape)} instead"
        )
    exchanges = readable(pivots)
    if exchanges is not None and not within(exchanges, 1, size):
        word = "greater or equal to 1" if exchanges.min() < 1 else "smaller or equal to LU.size(-2)"
        raise RuntimeError(f"Pivots given to lu_solve must all be {word}. Did you properly pass the result of lu_factor?")


@operation(forms=Forms({"input": "b"}), autocast=FLOAT32_ON_CPU, one_device=OneDevice("linalg_lu_solve"))
@node_called("LinalgLuSolveBackward0")
def lu_solve(
    LU: TensorBase, pivots: TensorBase, B: TensorBase, *, left: bool = True, adjoint: bool = False, out: TensorBase | None = None
) -> TensorBase:
    """Return the X of ``A @ X = B`` (``X @ A = B``, or with the adjoint of A) from the LU factors of A."""
    check_square(LU, "linalg.lu_solve", "LU")
    _check_factors(LU, pivots, B, left)
    permutation = beside(permutation_of(pivots, LU._ms_shape[-1], LU._ms_dtype), LU)
    unit, upper = triangles(LU)
    right = B if left else B.mH
    if adjoint is left:
        right = triangular(upper.mH, right, False)
        found = permutation @ triangular(unit.mH, right, True, True)
    else:
        found = triangular(upper, triangular(unit, permutation.mT @ right, False, True), True)
    return finish_exactly(by_columns(found) if left else by_columns(found).mH, out)


# Pseudo-inverses, ranks, least squares


def _check_tolerances(name: str, **tolerances: Any) -> None:
    """Raise torch's error for a complex tensor as tolerance."""
    for word, value in tolerances.items():
        if isinstance(value, TensorBase) and value._ms_dtype.is_complex:
            raise RuntimeError(f"{name}: {word} tensor of complex type is not supported. Got {type_word(value._ms_dtype)}")


def _tolerance(values: TensorBase, shape: Sequence[int], atol: Any, rtol: Any) -> Any:
    """Return the tolerance below which a singular value counts as zero: (…, 1)."""
    largest = reduce.amax(values, -1, True) if values._ms_shape[-1] else 0.0
    if rtol is None:
        given = atol is not None and not isinstance(atol, TensorBase) and atol > 0
        rtol = 0.0 if given else max(shape[-2:]) * np.finfo(values._ms_dtype.np).eps.item()
        if isinstance(atol, TensorBase):
            rtol = where(views.unsqueeze(atol, -1) > 0, 0.0, max(shape[-2:]) * np.finfo(values._ms_dtype.np).eps.item())
    elif isinstance(rtol, TensorBase):
        rtol = views.unsqueeze(rtol, -1)
    if isinstance(atol, TensorBase):
        atol = views.unsqueeze(atol, -1)
    relative = largest * rtol
    absolute = 0.0 if atol is None else atol
    if not isinstance(relative, TensorBase):
        return absolute if isinstance(absolute, TensorBase) else max(relative, absolute)
    return where(relative > absolute, relative, absolute)


def _pinv_backward(gradients: Any, outputs: Any, inputs: list[TensorBase]) -> Any:
    (gradient,), (p,), (A,) = gradients, outputs, inputs
    if gradient is None:
        return (None,)
    ph, gh = p.mH, gradient.mH
    rows, columns = A._ms_shape[-2:]
    if rows <= columns:
        k = gh @ p
        kph = k @ ph
        return (-(p @ k).mH + kph - (A @ p) @ kph + (ph @ p) @ (gh - k @ A),)
    k = p @ gh
    phk = ph @ k
    return (-(k @ p).mH + (gh - A @ k) @ p @ ph + phk - (phk @ p) @ A,)


@node_called("LinalgPinvBackward0")
def pinv(
    A: TensorBase, rcond: TensorBase | float | None = None, hermitian: bool = False, *, atol: Any = None,
    rtol: TensorBase | float | None = None, out: TensorBase | None = None,
) -> TensorBase:
    """Return the pseudo-inverse; singular values up to the tolerance count as zero."""
    if A._ms_dtype.is_integral or A._ms_dtype.itemsize < 4 or len(A._ms_shape) < 2:
        raise RuntimeError(
            f"linalg.pinv({type_word(A._ms_dtype)}{{{list(A._ms_shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    _check_tolerances("torch.linalg.pinv", rcond=rcond, atol=atol, rtol=rtol)
    not_differentiable("linalg_pinv", atol=atol, rtol=rtol if rcond is None else rcond)
    source = A.detach()
    rtol = rcond if rtol is None else rtol
    shape = A._ms_shape
    if A.numel() == 0:
        found = zeros((*shape[:-2], shape[-1], shape[-2]), dtype=A._ms_dtype, device=A.device) + A.mT * 0
        return finish_safely(found, out, "linalg.pinv")
    if hermitian:
        values, u = eigh_pair(source, "L", "linalg.pinv")
        size = values.abs()
        v = u
    else:
        u, values, vh = svd_parts(source, False)
        size, v = values, vh.mH
    keep = size > _tolerance(size, shape, atol, rtol)
    inverse = where(keep, 1.0 / where(keep, values, 1.0), 0.0)
    found = (v * views.unsqueeze(inverse, -2)) @ u.mH
    return finish_safely(attach("LinalgPinvBackward0", _pinv_backward, (A,), (found,))[0], out, "linalg.pinv")


@operation(autocast=FLOAT32_ON_CPU)
def matrix_rank(
    A: Any, tol: TensorBase | float | None = None, hermitian: bool = False, *, atol: TensorBase | float | None = None,
    rtol: TensorBase | float | None = None, out: TensorBase | None = None
) -> TensorBase:
    """Return the number of singular values above the tolerance."""
    check_floating(A, "linalg.matrix_rank")
    check_matrix(A, "torch.linalg.matrix_rank", "input")
    source = A.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    _check_tolerances("torch.linalg.matrix_rank", atol=atol, rtol=rtol)
    if A.numel() == 0:
        return finish_safely(zeros(A._ms_shape[:-2], dtype=int64, device=A.device), out, "torch.linalg.matrix_rank")
    size = eigh_pair(source, "L", "linalg.matrix_rank")[0].abs() if hermitian else svdvals(source)
    return finish_safely(reduce.sum((size > _tolerance(size, A._ms_shape, atol, rtol)), -1), out, "torch.linalg.matrix_rank")


@operation(autocast=FLOAT32_ON_CPU)
def cond(A: TensorBase, p: Number | str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the condition number: the norm of A times that of its inverse."""
    check_floating(A, "linalg.svd" if p in (None, 2, -2) else "linalg.inv")
    check_matrix(A, "linalg.cond")
    if p not in (None, "fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is None or p in (2, -2):
        values = svdvals(A)
        if A.numel() == 0:
            return finish_safely(zeros(A._ms_shape[:-2], dtype=values._ms_dtype, device=A.device), out, "linalg.cond", recorded=True)
        ratio = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
        return finish_safely(ratio, out, "linalg.cond", recorded=True)
    check_square(A, "linalg.cond")
    if A.numel() == 0:
        return finish_safely(zeros(A._ms_shape[:-2], dtype=A._ms_dtype.to_real(), device=A.device), out, "linalg.cond", recorded=True)
    if p == "nuc":
        values = svdvals(A)
        return finish_safely(reduce.sum(values, -1) * reduce.sum(values.reciprocal(), -1), out, "linalg.cond", recorded=True)
    inverse, info = solve_matrices(A, eye(A._ms_shape[-1], dtype=A._ms_dtype, device=A.device))
    found = matrix_norm(A, p) * matrix_norm(inverse, p)
    if array_of(info).any():
        found = where(info > 0, math.inf, found)
    return finish_safely(nan_to_num(found, math.inf, math.inf, -math.inf), out, "linalg.cond", recorded=True)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgLstsqBackward0")
def lstsq(
    A: TensorBase, B: TensorBase, rcond: float | None = None, *, driver: str | None = None,
    out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return the X that minimizes ``norm(A @ X - B)``, the residuals, the rank and the singular values, as the driver provides them."""
    refuse_tracked(rcond)
    check_floating(A, "torch.linalg.lstsq")
    if len(A._ms_shape) < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if not B._ms_shape:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A._ms_dtype is not B._ms_dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{type_word(A._ms_dtype)} and other's dtype {type_word(B._ms_dtype)}"
        )
    if not 0 <= len(A._ms_shape) - len(B._ms_shape) <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    shape = A._ms_shape
    vector = is_vector(A, B)
    if not vector and len(shape) > len(B._ms_shape):
        broadcast_shape(shape[:-2], B._ms_shape[:-1])
    right = views.unsqueeze(B, -1) if vector else B
    if shape[-2] != right._ms_shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    values = svdvals(A.detach())
    limit, counted = _limits_of(driver, rcond, np.finfo(A._ms_dtype.np).eps.item(), max(shape[-2:]))
    if driver == "gels":
        _expect_full_rank(A, values)
    solution = pinv(A, rtol=limit) @ right
    nothing, counts = zeros(0, dtype=A._ms_dtype.to_real(), device=A.device), zeros(0, dtype=int64, device=A.device)
    rank = nothing
    ranks = reduce.sum(values > values[..., :1] * counted, -1) if A.numel() else zeros(shape[:-2], dtype=int64, device=A.device)
    residuals = nothing
    if shape[-2] > shape[-1] and (driver == "gels" or bool((ranks == shape[-1]).all())) and driver != "gelsy":
        rest = A @ solution - right
        residuals = reduce.sum(rest.abs() ** 2, -2)
    if residuals is nothing:
        # In torch it is an output of the solution's node.
        (residuals,) = record("LinalgLstsqBackward0", _no_gradients, (A, B), (nothing.clone(),))
    rank = counts if driver == "gels" else ranks
    solution = _in_lapack_columns(solution, shape[-2])
    solution = no_view(views.squeeze(solution, -1)) if vector else solution
    singular = values if driver in ("gelsd", "gelss") else nothing
    found = return_types.linalg_lstsq((solution, residuals, rank, singular))
    return found if out is None else finish_safely(found, out, "torch.linalg.lstsq", "solution", "residuals", "rank", "singular_values")


def _limits_of(driver: str, rcond: float | None, eps: float, size: int) -> tuple[float, float]:
    """Return two thresholds of LAPACK's driver, relative to the largest singular value: singular values below the first count as 0 in the
    solution, values below the second do not count for the rank."""
    if rcond is None or driver == "gels":  # which has no threshold
        return size * eps, size * eps
    if driver == "gelsd":  # thresholds of 1 or more count as none
        return (rcond, rcond) if 0 < rcond < 1 else (eps, eps)
    if driver == "gelsy":  # it counts columns, of which the first always counts
        return (eps, -1.0) if rcond < 0 else (min(rcond, 1 - eps),) * 2
    return (eps, eps) if rcond < 0 else (rcond, rcond)


def _expect_full_rank(A: TensorBase, values: TensorBase) -> None:
    """Raise torch's error for a rank-deficient matrix, as LAPACK's gels reports it: a zero on the diagonal of R, but not all zeros."""
    least = readable(values[..., -1:] / values[..., :1]) if 0 not in values._ms_shape else None
    if least is None or not (least <= max(A._ms_shape[-2:]) * np.finfo(least.dtype).eps).any():
        return
    inner = A.detach()
    triangle = qr(inner if inner._ms_shape[-2] >= inner._ms_shape[-1] else inner.mH, "r")[1]
    zeros_of = array_of(triangle.diagonal(dim1=-2, dim2=-1)) == 0
    zeros_of = (zeros_of & ~zeros_of.all(-1, keepdims=True)).reshape(-1, zeros_of.shape[-1])
    for place, row in enumerate(zeros_of):
        if row.any():
            batch = f"(Batch element {place}): " if len(A._ms_shape) > 2 else ""
            raise LinAlgError(
                f"torch.linalg.lstsq: {batch}The least squares solution could not be computed because the input matrix does not have full "
                f"rank (error code: {int(row.argmax()) + 1})."
            )


def _no_gradients(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[Any, Any]:
    return None, None


def _in_lapack_columns(solution: TensorBase, rows: int) -> Any:
    """Return solutions in column-major order, as views of the first rows of a right-hand side of ``rows`` rows, which LAPACK overwrites
    with the solution.
    """
    *lead, own, columns = solution._ms_shape
    if rows <= own:
        return by_columns(solution)
    rest = zeros((*lead, rows - own, columns), dtype=solution._ms_dtype, device=solution.device)
    return no_view(views.narrow(by_columns(cat([solution, rest], -2)), -2, 0, own))


def check_scales(name: str, A: TensorBase, tau: TensorBase) -> None:
    """Raise torch's errors unless ``tau`` has a row for each matrix."""
    a, t = A._ms_shape, tau._ms_shape
    if len(t) != len(a) - 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(t)} and input.ndim is "
            f"equal to {len(a)}"
        )
    if t[:-1] != a[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(t[:-1])}")


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgHouseholderProductBackward0")
def householder_product(A: TensorBase, tau: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the first columns of the product of Householder reflections: vectors below the diagonal of A, factors in tau."""
    name = "torch.linalg.householder_product"
    if len(A._ms_shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not tau._ms_shape:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    rows, columns = A._ms_shape[-2:]
    if rows < columns:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau._ms_shape[-1] > columns:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check_scales(name, A, tau)
    if tau._ms_dtype is not A._ms_dtype:
        raise RuntimeError(f"{name}: tau dtype {type_word(tau._ms_dtype)} does not match input dtype {type_word(A._ms_dtype)}")
    if A._ms_dtype.is_integral:
        raise not_for("orgqr_cpu", A._ms_dtype.name)
    found = batch_of(eye(rows, columns, dtype=A._ms_dtype, device=A.device), A._ms_shape[:-2])
    unit = tril(A, -1) + eye(rows, columns, dtype=A._ms_dtype, device=A.device)
    for i in reversed(range(tau._ms_shape[-1])):
        vector = unit[..., :, i : i + 1]
        found = found - views.unsqueeze(tau[..., i : i + 1], -1) * (vector @ (vector.mH @ found))
    return finish_safely(by_columns(found), out, "torch.linalg.householder_product")


def ldl_factor_ex(
    A: TensorBase, *, hermitian: bool = False, check_errors: bool = False, out: TensorBase | Sequence[TensorBase] | None = None
) -> Any:
    """Return L and D in one matrix, the pivots, and for each matrix the position of the first zero of D (from 1; 0 if there is none)."""
    check_floating(A, "torch.linalg.ldl_factor_ex")
    check_square(A, "torch.linalg.ldl_factor_ex")
    joined, pivots, info = computed(_ldl, A, hermitian)
    factors: Any = underivable("aten::linalg_ldl_factor_ex", A, by_columns(joined))
    if check_errors:
        check_info(info, _ZERO_IN_D, "torch.linalg.ldl_factor_ex")
    return finish_exactly(return_types.linalg_ldl_factor_ex((factors, pivots, info)), out)


def ldl_factor(A: TensorBase, *, hermitian: bool = False, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return L and D in one matrix, and the pivots. Raise LinAlgError if D has a zero on its diagonal."""
    factors, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    check_info(info, _ZERO_IN_D, "torch.linalg.ldl_factor")
    return finish_exactly(return_types.linalg_ldl_factor((factors, pivots)), out)


def ldl_solve(LD: TensorBase, pivots: TensorBase, B: TensorBase, *, hermitian: bool = False, out: TensorBase | None = None) -> TensorBase:
    """Return the X of ``A @ X = B`` from the LDL factors of A."""
    wrap_dim(-2, len(B._ms_shape))
    check_system(B, LD, "torch.linalg.ldl_solve", "torch.linalg.ldl_solve: ")
    if pivots._ms_shape != LD._ms_shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._ms_shape)} instead"
        )
    batch = broadcast_shape(LD._ms_shape[:-2], B._ms_shape[:-2])
    exchanged = views.expand(pivots, (*batch, pivots._ms_shape[-1]))
    solution = by_columns(computed(_ldl_solve, batch_of(LD, batch), batch_of(B, batch), exchanged, hermitian))
    all_underivable("aten::linalg_ldl_solve", (LD, B), (solution,))
    return finish_exactly(solution, out)


# Norms


def check_norm_out(name: str, A: TensorBase, dtype: dtype | None, out: TensorBase) -> None:
    """Raise torch's error unless ``out`` has the norm's dtype."""
    want = (A._ms_dtype if dtype is None else dtype).to_real()
    if out._ms_dtype is not want:
        raise RuntimeError(f"{name} expected out tensor dtype {type_word(want)} but got: {type_word(out._ms_dtype)}")


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def matrix_norm(
    A: TensorBase, ord: complex | str = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: dtype | None = None,
    out: TensorBase | None = None
) -> TensorBase:
    """Return the norm of matrices: "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
    check_floating(A, "linalg.matrix_norm", low=ord not in ("nuc", 2, -2))
    if isinstance(ord, complex):
        raise RuntimeError("linalg.matrix_norm: Expected a non-complex scalar as the order of norm.")
    if isinstance(out, TensorBase):
        check_norm_out("linalg.matrix_norm", A, dtype, out)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    check_matrix(A, "linalg.matrix_norm")
    if dtype is not None:
        refuse_norm_dtype("linalg.matrix_norm", A._ms_dtype, dtype)
        A = A.to(dtype)
    rank = len(A._ms_shape)
    first, second = (wrap_dim(d, rank) for d in dims)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    if ord == "fro":
        return finish_recorded(vector_norm(A, 2, (first, second), keepdim), out)
    if ord in ("nuc", 2, -2):
        values = svdvals(views.movedim(A, (first, second), (-2, -1)))
        if ord == "nuc":
            found = reduce.sum(values, -1)
        else:
            found = _max_or_zero(values, -1, False) if ord == 2 else _least(values, -1, False)
        if keepdim:
            for place in sorted((first, second)):
                found = views.unsqueeze(found, place)
        return finish_recorded(found, out)
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, taken = (first, second) if abs(ord) == 1 else (second, first)
    sums = reduce.sum(A.abs(), summed, keepdim)
    taken -= summed < taken and not keepdim
    return finish_recorded(_max_or_zero(sums, taken, keepdim) if ord > 0 else _least(sums, taken, keepdim), out)


def _max_or_zero(sizes: TensorBase, dim: int, keepdim: bool) -> TensorBase:
    """Return the maximum of nonnegative numbers along ``dim``; 0 for an empty dimension."""
    return reduce.amax(sizes, dim, keepdim) if sizes._ms_shape[dim] else reduce.sum(sizes, dim, keepdim)


def _least(sizes: TensorBase, dim: int, keepdim: bool) -> TensorBase:
    if sizes._ms_shape[dim] == 0:
        raise IndexError(f"amin(): Expected reduction dim {dim} to have non-zero size.")
    return reduce.amin(sizes, dim, keepdim)


@operation(numpy_names=True, autocast=FLOAT32_ON_DEVICES)
def norm(
    A: TensorBase, ord: Number | str | None = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    out: TensorBase | None = None, dtype: dtype | None = None
) -> TensorBase:
    """Return the vector norm, or the matrix norm for two dimensions and an order."""
    check_floating(A, "linalg.norm", low=True)
    if isinstance(out, TensorBase):
        check_norm_out("linalg.norm", A, dtype, out)
    if dim is not None and not isinstance(dim, int) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and len(A._ms_shape) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {len(A._ms_shape)}D.")
    two = len(dim) == 2 if isinstance(dim, (tuple, list)) else dim is None and len(A._ms_shape) == 2
    if ord is not None and two:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        return matrix_norm(A, ord, dim if dim is not None else (-2, -1), keepdim, dtype=dtype, out=out)
    if ord is None and dim is None:
        flat = vector_norm(views.flatten(A), 2, None, False, dtype=dtype)
        return finish_recorded(views.reshape(flat, (1,) * len(A._ms_shape)) if keepdim else flat, out)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


