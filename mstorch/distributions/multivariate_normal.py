"""The multivariate normal distribution."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from . import constraints
from ._triangular import batch_mahalanobis as _batch_mahalanobis
from ._triangular import batch_mv as _batch_mv
from ._triangular import log_diagonal
from ._triangular import precision_to_scale_tril as _precision_to_scale_tril
from .distribution import Distribution
from .utils import _standard_normal, lazy_property


class MultivariateNormal(Distribution):
    """Distribution of normal vectors with mean ``loc``, parametrized by a covariance, a precision or a Cholesky factor, which is the
    fastest."""

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _mstorch_expands = {"loc": 1, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
    _mstorch_keeps = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        choices = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        given = {name: matrix for name, matrix in choices.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{called} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "covariance_matrix":
            matrix = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _over_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._over_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._over_batch(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._over_batch(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> TensorBase:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, self._mstorch_checked(value) - self.loc)
        volume = log_diagonal(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - volume

    def entropy(self) -> Any:
        volume = log_diagonal(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + volume
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


__all__ = ["MultivariateNormal"]
