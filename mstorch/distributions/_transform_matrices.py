"""Transforms to triangular, correlation and positive definite matrices."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch
from mstorch.nn.functional import pad, softplus

from .._tensor import Tensor
from . import constraints
from ._transform_base import Transform, _Alike
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


class CorrCholeskyTransform(Transform):
    """Maps vectors of D(D-1)/2 elements to Cholesky factors of D × D correlation matrices (Lewandowski et al., 2009).

    The tanh of the elements are partial correlations; each row is a signed stick-breaking process.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + torch.eye(partial.shape[-1], dtype=partial.dtype, device=partial.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


def _with_diagonal(matrix: Tensor, function: str) -> Tensor:
    """Return the lower triangle with ``function`` applied to its diagonal."""
    return matrix.tril(-1) + getattr(matrix.diagonal(dim1=-2, dim2=-1), function)().diag_embed()


class LowerCholeskyTransform(_Alike):
    """Maps square matrices to lower triangular ones with a positive diagonal, by exponentiating it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return _with_diagonal(x, "exp")

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(y, "log")


class PositiveDefiniteTransform(_Alike):
    """Maps square matrices to positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = _with_diagonal(x, "exp")
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(torch.linalg.cholesky(y), "log")
