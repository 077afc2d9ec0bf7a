"""The polar decomposition and the square root of a Hermitian matrix (torch 2.14)."""
from __future__ import annotations

from typing import Any

from ... import return_types
from ..._tensor import Tensor
from ...autograd.function import Function
from ..core.tensor_base import TensorBase
from ..ops.linalg import linalg_spectral, matmul

_WORDS = {"int8": "Char", "uint8": "Byte", "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool"}


def _check(name: str, A: Any) -> None:
    if not isinstance(A, TensorBase):
        raise TypeError(f"linalg_{name}(): argument 'A' (position 1) must be Tensor, not {type(A).__name__}")
    if len(A.shape) < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.dtype.is_integral:
        kind = A.dtype.name
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {_WORDS.get(kind, kind)}")


def _solved(values: Any, vectors: Any, X: Any) -> Any:
    """Return the solution of ``Y H + H Y = X`` for a Hermitian matrix H with these eigenvalues and eigenvectors."""
    inner = vectors.mH @ X @ vectors
    return vectors @ (inner / (values.unsqueeze(-1) + values.unsqueeze(-2))) @ vectors.mH


class LinalgPolar(Function):
    """The polar decomposition A = U H by the singular value decomposition.

    Its differential: U^H dA - dA^H U = W H + H W gives W, then dH = U^H dA - W H and dU = U W + (1 - U U^H) dA / H (Higham, "Functions of
    Matrices", 2008, chapter 8).
    """

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any) -> Any:
        return LinalgPolar.apply(A.movedim(in_dims[0], 0)), (0, 0)

    @staticmethod
    def forward(A: Any) -> Any:
        U, S, Vh = linalg_spectral.svd(A, False)
        H = (Vh.mH * S.unsqueeze(-2)) @ Vh
        return matmul.matmul(U, Vh), (H + H.mH) / 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    def backward(ctx: Any, grad_U: Any, grad_H: Any) -> Any:
        U, H = ctx.saved_tensors
        values, vectors = linalg_spectral.eigh(H)
        turn = _solved(values, vectors, U.mH @ grad_U - grad_H @ H)
        beside = grad_U - U @ (U.mH @ grad_U)
        return U @ (turn - turn.mH + grad_H) + (beside @ vectors / values.unsqueeze(-2)) @ vectors.mH

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        U, H = ctx.saved_tensors
        values, vectors = linalg_spectral.eigh(H)
        inner = U.mH @ tangent
        turn = _solved(values, vectors, inner - inner.mH)
        beside = tangent - U @ inner
        return U @ turn + (beside @ vectors / values.unsqueeze(-2)) @ vectors.mH, inner - turn @ H


class LinalgMatrixSqrth(Function):
    """The square root X of a Hermitian positive definite matrix by its eigenvalues; its differential solves dX X + X dX = dA."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, A: Any) -> Any:
        return LinalgMatrixSqrth.apply(A.movedim(in_dims[0], 0)), 0

    @staticmethod
    def forward(A: Any) -> Any:
        values, vectors = linalg_spectral.eigh(A)
        return (vectors * values.clamp(min=0).sqrt().unsqueeze(-2)) @ vectors.mH

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def _solve(ctx: Any, X: Any) -> Any:
        values, vectors = linalg_spectral.eigh(ctx.saved_tensors[0])
        return _solved(values, vectors, (X + X.mH) / 2)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return LinalgMatrixSqrth._solve(ctx, gradient)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return LinalgMatrixSqrth._solve(ctx, tangent)


def polar(A: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """Return the polar decomposition A = U H: U has orthonormal columns, H is positive semidefinite."""
    _check("polar", A)
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            f"linalg.polar: input must have at least as many rows as columns, but got {rows} by {columns} matrices"
        )
    found = LinalgPolar.apply(A)
    if out is None:
        return return_types.linalg_polar(found)
    for target, value in zip(out, found):
        target.resize_(value.shape).copy_(value)
    return return_types.linalg_polar_out(out)


def matrix_sqrth(A: Tensor) -> Any:
    """Return the Hermitian positive definite square root of a Hermitian positive definite matrix, of which the lower triangle is read."""
    _check("matrix_sqrth", A)
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"linalg.matrix_sqrth: A must be batches of square matrices, but they are {rows} by {columns} matrices")
    return LinalgMatrixSqrth.apply(A)
