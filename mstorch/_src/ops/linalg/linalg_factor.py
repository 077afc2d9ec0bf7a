"""Factorizations and solvers of torch.linalg, with gradients composed of tensor operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import return_types
from ...backend.arrays import Array
from ...backend.errors import not_for
from ...backend.table import kernel
from ...core.strides import columns_first
from ...core.tensor_base import TensorBase, in_order
from ...tape.composite import record, refuse
from ...tape.operands import computed
from ...tape.ways import values_if_any
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import broadcast_shape, finish_exactly, type_word
from .._named import node_called
from .._operation import operation
from ..memory.creation import eye, zeros_like
from ..shape import views
from ..shape.join import cat
from ..shape.shape import diag_embed, tril, triu

PUBLIC_IN = "linalg"

_NAMES = ("solve", "cholesky", "qr", "solve_triangular", "geqrf")
_solve, _cholesky, _qr, _triangular, _geqrf = (kernel(f"linalg_{name}") for name in _NAMES)


class _LinAlgError(RuntimeError):
    """Raised for a matrix that cannot be factorized or inverted."""


LinAlgError = _LinAlgError

Backward = Callable[..., Any]
Tensors = Sequence[TensorBase]


def attach(
    name: str, backward: Backward, inputs: Sequence[Any], results: Sequence[Any], *rest: Any, kept: Sequence[int] | None = None
) -> tuple[Any, ...]:
    """Make ``backward(gradients, outputs, inputs, *rest)`` the gradient of results that autograd does not track, such as a kernel's.

    ``kept`` lists the inputs of which ``backward`` needs the values and not only the shape; by default all.
    """
    made = tuple(item.detach() for item in results)

    def filled(gradients: Sequence[TensorBase | None], outputs: Tensors, inputs: Tensors, *rest: Any) -> tuple[TensorBase, ...]:
        # As in torch, an input that the used outputs do not depend on gets zeros.
        found = backward(gradients, outputs, inputs, *rest)
        return tuple(zeros_like(like.detach()) if gradient is None else gradient for gradient, like in zip(found, inputs))

    return record(name, filled, inputs, made, *rest, kept=kept)


# Functions for which torch's kernels reject half precision; those of the second table also get integers.
_KERNELS = {
    "linalg.det": "lu_cpu", "linalg.solve": "lu_cpu", "linalg.svd": "linalg_svd_cpu",
    "linalg.qr": "geqrf_cpu", "linalg.eig": "linalg_eig_out_cpu", "linalg.eigvals": "linalg_eig_out_cpu",
    "linalg.cholesky": "cholesky_cpu", "torch.linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
}  # fmt: skip
_KERNELS_OF_ALL = {
    "geqrf": "geqrf_cpu", "linalg.eigh": "linalg_eigh_cpu", "linalg.eigvalsh": "linalg_eigh_cpu", "linalg.lu": "lu_cpu",
    "torch.lu_factor": "lu_cpu", "cholesky": "cholesky_cpu", "cholesky_inverse": "cholesky_inverse_out_cpu",
}  # fmt: skip


def check_floating(tensor: TensorBase, name: str, low: bool = False) -> None:
    """Raise torch's error unless a tensor is floating or complex."""
    kind = tensor._ms_dtype
    if not kind.is_integral and (low or kind.itemsize >= 4):
        return
    kernel = _KERNELS_OF_ALL.get(name) or (_KERNELS.get(name) if kind.is_floating_point else None)
    if kernel is not None:
        raise not_for(kernel, kind.name)
    if kind.is_integral:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_word(kind)}")
    raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {type_word(kind)}")


def check_matrix(tensor: TensorBase, name: str, label: str = "A") -> None:
    """Raise torch's error for a tensor with fewer than two dimensions."""
    if len(tensor._ms_shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {label} must have at least 2 dimensions.")


def check_square(tensor: TensorBase, name: str, label: str = "A") -> None:
    """Raise torch's error unless a tensor holds square matrices."""
    check_matrix(tensor, name, label)
    rows, columns = tensor._ms_shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: {label} must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_system(b: TensorBase, A: TensorBase, name: str, prefix: str = "") -> None:
    """Raise torch's errors unless A holds square matrices of b's dtype, with as many columns as b has rows."""
    if b._ms_dtype is not A._ms_dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {type_word(b._ms_dtype)} and A of type "
            f"{type_word(A._ms_dtype)} instead."
        )
    rows, columns = A._ms_shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{prefix}A must be batches of square matrices, but they are {rows} by {columns} matrices")
    lines, width = b._ms_shape[-2:]
    if columns != lines:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {columns} by {columns} but each b matrix is {lines} by {width}"
        )


def check_info(info: TensorBase, text: str, name: str, error: type[Exception] | None = None) -> None:
    """Raise torch's LinAlgError if a factorization failed; ``text`` has ``{}`` for the position."""
    codes = values_if_any(info)
    if codes is not None and codes.any():
        wrong = codes != 0
        raise (error or _LinAlgError)(f"{name}: {batch_element(wrong)}{text.format(int(codes[wrong][0]))}")


def batch_element(wrong: Array) -> str:
    """Return the words of torch's errors that name the first matrix of a batch for which ``wrong`` is True; nothing without a batch."""
    return f"(Batch element {int(wrong.reshape(-1).argmax())}): " if wrong.ndim else ""


def batch_of(tensor: TensorBase, batch: tuple[int, ...]) -> TensorBase:
    """Return the matrices expanded to a batch shape."""
    shape = tensor._ms_shape
    return tensor if shape[:-2] == batch else views.expand(tensor, (*batch, *shape[-2:]))


def finite(tensor: TensorBase) -> bool:
    """Return whether all elements are finite; True for a tensor without values."""
    values = values_if_any(tensor)
    return values is None or bool(np.isfinite(values).all())


def by_columns(found: TensorBase) -> Any:
    """Return new matrices rearranged to column-major order, the order of torch's LAPACK results."""
    return in_order(found, columns_first(found._ms_shape))


# Solvers


def _solve_backward(gradients: Tensors, outputs: Tensors, inputs: Tensors) -> tuple[TensorBase, TensorBase]:
    if gradients[0] is None:
        return None, None
    matrix, _ = inputs
    right = solve_matrices(matrix.mH, gradients[0])[0]
    return -(right @ outputs[0].mH), right


def solve_matrices(matrix: TensorBase, right: TensorBase) -> tuple[Any, Any]:
    """Solve ``matrix @ X = right``; return X and LAPACK's info codes."""
    batch = broadcast_shape(matrix._ms_shape[:-2], right._ms_shape[:-2])
    matrix, right = batch_of(matrix, batch), batch_of(right, batch)
    found, info = computed(_solve, matrix, right)
    return attach("LinalgSolveExBackward0", _solve_backward, (matrix, right), (by_columns(found),), kept=(0,))[0], info


def is_vector(matrix: TensorBase, right: TensorBase) -> bool:
    """Return whether the right-hand side is a vector, or a batch of vectors."""
    a, b = matrix._ms_shape, right._ms_shape
    return len(b) == 1 or (len(a) - 1 == len(b) and a[:-1] == b)


def _solve_any(A: TensorBase, B: TensorBase, left: bool) -> tuple[Any, Any]:
    check_floating(A, "linalg.solve")
    check_square(A, "linalg.solve")
    if A._ms_dtype is not B._ms_dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {type_word(A._ms_dtype)} and B of type "
            f"{type_word(B._ms_dtype)} instead"
        )
    vector = is_vector(A, B)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
    right = views.unsqueeze(B, -1) if vector else B
    if not left:
        A, right = A.mT, right.mT
    if A._ms_shape[-1] != right._ms_shape[-2]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A._ms_shape[-2]}x{A._ms_shape[-1]} and {right._ms_shape[-2]}x{right._ms_shape[-1]})"
        )
    found, info = solve_matrices(A, right)
    if not left:
        found = found.mT
    if not vector:
        return found, info
    found = views.squeeze(found, -1)
    # Batches of vectors have the memory order of matrices.
    return (by_columns(found) if len(found._ms_shape) > 1 else found), info


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgSolveExBackward0")
def solve(A: TensorBase, B: TensorBase, *, left: bool = True, out: TensorBase | None = None) -> TensorBase:
    """Return the X of ``A @ X = B``, or with ``left=False`` of ``X @ A = B``."""
    found, info = _solve_any(A, B, left)
    codes = values_if_any(info)
    if codes is not None and codes.any():
        place = "" if not info.shape else f"(Batch element {int(codes.reshape(-1).nonzero()[0][0])}): "
        raise _LinAlgError(f"torch.linalg.solve: {place}The solver failed because the input matrix is singular.")
    return finish_exactly(found, out)


@node_called("LinalgSolveExBackward0")
def solve_ex(A: TensorBase, B: TensorBase, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """Return ``solve``, and for each matrix the position of the first zero pivot (from 1), or 0 if the matrix is invertible."""
    found, info = _solve_any(A, B, left)
    if check_errors:
        check_info(info, "The solver failed because the input matrix is singular.", "torch.linalg.solve_ex")
    return finish_exactly(return_types.linalg_solve_ex((found, info)), out)


_NO_INVERSE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


def _inverse(A: TensorBase, name: str) -> tuple[Any, Any]:
    check_floating(A, name)
    check_square(A, name)
    found, info = solve_matrices(A.detach(), eye(A._ms_shape[-1], dtype=A._ms_dtype, device=A.device))
    return attach("LinalgInvExBackward0", _inverse_backward, (A,), (found,), kept=())[0], info


def _inverse_backward(gradients: Sequence[TensorBase], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> tuple[TensorBase]:
    (gradient,), (inverse,) = gradients, outputs
    return (None if gradient is None else -(inverse.mH @ gradient @ inverse.mH),)


@operation(autocast=FLOAT32_ON_CPU)
def inv(A: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of square matrices."""
    found, info = _inverse(A, "linalg.inv")
    check_info(info, _NO_INVERSE, "linalg.inv")
    return finish_exactly(found, out)


@operation(autocast=FLOAT32_ON_CPU)
def inv_ex(A: TensorBase, *, check_errors: bool = False, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return the inverse, and for each matrix the position of the first zero pivot (from 1), or 0 if the matrix is invertible."""
    found, info = _inverse(A, "linalg.inv")
    if check_errors:
        check_info(info, _NO_INVERSE, "linalg.inv_ex")
    return finish_exactly(return_types.linalg_inv_ex((found, info)), out)


def _triangle_backward(gradients: Tensors, outputs: Tensors, inputs: Tensors, upper: bool, unit: bool) -> tuple[TensorBase, TensorBase]:
    if gradients[0] is None:
        return None, None
    right = triangular(inputs[0].mH, gradients[0], not upper, unit)
    matrix = -(right @ outputs[0].mH)
    return (triu(matrix, int(unit)) if upper else tril(matrix, -int(unit))), right


def triangular(matrix: TensorBase, right: TensorBase, upper: bool, unit: bool = False) -> Any:
    """Solve ``matrix @ X = right``, using one triangle of the matrix."""
    batch = broadcast_shape(matrix._ms_shape[:-2], right._ms_shape[:-2])
    matrix, right = batch_of(matrix, batch), batch_of(right, batch)
    found = computed(_triangular, matrix, right, upper, unit)
    return attach("LinalgSolveTriangularBackward0", _triangle_backward, (matrix, right), (by_columns(found),), upper, unit, kept=(0,))[0]


@node_called("LinalgSolveTriangularBackward0")
def solve_triangular(
    input: TensorBase, B: TensorBase, *, upper: bool, left: bool = True, unitriangular: bool = False, out: TensorBase | None = None
) -> TensorBase:
    """Return the X of ``input @ X = B`` (``X @ input = B`` with ``left=False``) for triangular matrices."""
    check_matrix(input, "linalg.solve_triangular")
    check_matrix(B, "linalg.solve_triangular", "B")
    check_square(input, "linalg.solve_triangular")
    if input._ms_dtype is not B._ms_dtype:
        raise RuntimeError(
            f"linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type "
            f"{type_word(input._ms_dtype)} and B of type {type_word(B._ms_dtype)} instead"
        )
    a, b = input._ms_shape, B._ms_shape
    if a[-1] != (b[-2] if left else b[-1]):
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    if left:
        return finish_exactly(triangular(input, B, upper, unitriangular), out)
    return finish_exactly(by_columns(triangular(input.mT, B.mT, not upper, unitriangular).mT), out)


# Factorizations


def _cholesky_backward(gradients: Tensors, outputs: Tensors, inputs: Tensors, upper: bool) -> tuple[TensorBase]:
    (gradient,), (factor,) = gradients, outputs
    if gradient is None:
        return (None,)
    inner = tril(factor.mH @ gradient)
    inner = (inner + tril(inner, -1).mH) * 0.5  # the diagonal keeps its imaginary part, as in torch
    found = triangular(factor.mH, inner, True)
    found = triangular(factor.mH, found.mH, True)
    return (found if upper else found.mH,)  # an upper factor was computed from the adjoint


def cholesky_factor(A: TensorBase, upper: bool) -> tuple[Any, Any]:
    """Return L (or its adjoint), and LAPACK's info codes."""
    check_floating(A, "linalg.cholesky")
    check_square(A, "linalg.cholesky")
    if upper:
        A = A.mH
    found, info = computed(_cholesky, A)
    # The adjoint of rows lies by columns too.
    factor = attach("LinalgCholeskyExBackward0", _cholesky_backward, (A,), (found if upper else by_columns(found),), upper, kept=())[0]
    return (factor.mH if upper else factor), info


NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} "
    "is not positive-definite)."
)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgCholeskyExBackward0")
def cholesky(input: TensorBase, *, upper: bool = False, out: TensorBase | None = None) -> TensorBase:
    """Return the lower triangular L of ``A = L @ L.mH``, or with ``upper`` its adjoint."""
    found, info = cholesky_factor(input, upper)
    check_info(info, NOT_POSITIVE, "linalg.cholesky")
    return finish_exactly(found, out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("LinalgCholeskyExBackward0")
def cholesky_ex(input: TensorBase, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """Return ``cholesky``, and for each matrix the order of the first leading minor that is not positive-definite, or 0."""
    found, info = cholesky_factor(input, upper)
    if check_errors:
        check_info(info, NOT_POSITIVE, "linalg.cholesky_ex")
    return finish_exactly(return_types.linalg_cholesky_ex((found, info)), out)


def _qr_square(q: TensorBase, r: TensorBase, gq: TensorBase | None, gr: Any) -> TensorBase:
    inner = None
    if gr is not None:
        inner = gr @ r.mH
    if gq is not None:
        part = q.mH @ gq
        inner = -part if inner is None else inner - part
    inner = triu(inner)
    both = inner + inner.mH
    diagonal = inner.diagonal(0, -2, -1)
    both = both - diag_embed((diagonal.real if diagonal.is_complex() else diagonal).to(both.dtype))
    found = q @ both
    if gq is not None:
        found = found + gq
    return triangular(r, found.mH, True).mH


def _qr_backward(gradients: Sequence[TensorBase | None], outputs: Sequence[TensorBase], inputs: Sequence[TensorBase], mode: str) -> Any:
    gq, gr = gradients
    q, r = outputs
    rows, columns = inputs[0]._ms_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients of linalg.qr."
        )
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    if gq is None and gr is None:
        return (None,)
    if rows >= columns:
        return (_qr_square(q, r, gq, gr),)
    first, rest = r[..., :rows], r[..., rows:]
    if gr is None:
        found = _qr_square(q, first, gq, None)
        return (_joined(found, zeros_like(rest), -1),)
    part = q @ rest @ gr[..., rows:].mH  # q @ rest equals the input's remaining columns, which are not saved
    found = _qr_square(q, first, part if gq is None else gq + part, gr[..., :rows])
    return (_joined(found, q @ gr[..., rows:], -1),)


def _joined(first: TensorBase, second: TensorBase, dim: int) -> TensorBase:
    return cat((first, second), dim)


@operation(autocast=FLOAT32_ON_CPU)
def qr(A: TensorBase, mode: str = "reduced", *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return Q and R with ``A = Q @ R``, R upper triangular."""
    check_floating(A, "linalg.qr")
    check_matrix(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    parts = [by_columns(item) if len(item.shape) > 1 else item for item in computed(_qr, A, mode)]
    found = attach("LinalgQrBackward0", _qr_backward, (A,), parts, mode, kept=())
    return finish_exactly(return_types.linalg_qr(found), out)


@operation(autocast=FLOAT32_ON_CPU)
def geqrf(input: TensorBase, *, out: TensorBase | Sequence[TensorBase] | None = None) -> Any:
    """Return R above the Householder vectors of Q, and the vectors' factors tau."""
    check_floating(input, "geqrf")
    check_matrix(input, "torch.geqrf", "input")
    factors, scales = computed(_geqrf, input)
    results: Any = tuple(refuse("GeqrfBackward0", "geqrf", input, result) for result in (by_columns(factors), scales))
    return finish_exactly(return_types.geqrf(results), out)


