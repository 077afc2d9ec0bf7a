"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from . import constraints
from ._triangular import batch_mahalanobis, batch_mv, log_diagonal
from .distribution import Distribution
from .utils import _standard_normal, lazy_property


def _plus_identity(matrix: Tensor) -> Tensor:
    """Return the matrices with 1 added to the diagonals."""
    size = matrix.size(-1)
    matrix = matrix.contiguous()
    matrix.view(-1, size * size)[:, :: size + 1] += 1
    return matrix


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """Return the Cholesky factor of ``I + Wᵀ D⁻¹ W``."""
    return torch.linalg.cholesky(_plus_identity(torch.matmul(W.mT / D.unsqueeze(-2), W)))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the log-determinant of ``W Wᵀ + diag(D)``, from the Cholesky factor of the capacitance ``I + Wᵀ D⁻¹ W``."""
    return 2 * log_diagonal(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return ``xᵀ (W Wᵀ + D)⁻¹ x``, by Woodbury's identity."""
    within = batch_mahalanobis(capacitance_tril, batch_mv(W.mT / D.unsqueeze(-2), x))
    return (x.pow(2) / D).sum(-1) - within


class LowRankMultivariateNormal(Distribution):
    """Distribution of normal vectors with covariance ``cov_factor @ cov_factorᵀ + diag(cov_diag)``."""

    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _mstorch_expands = {"loc": 1, "cov_diag": 1, "cov_factor": 2}
    _mstorch_keeps = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = torch.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = columns[0][..., 0]
        self.cov_factor = columns[1]
        self.cov_diag = columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    @property
    def _parts(self) -> tuple[Any, Any]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _over_batch(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        factor, diagonal = self._parts
        return (factor.pow(2).sum(-1) + diagonal).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        factor, diagonal = self._parts
        root = diagonal.sqrt().unsqueeze(-1)  # D^½ (I + D^-½ W Wᵀ D^-½) D^½ is better conditioned than W Wᵀ + D
        scaled = factor / root
        return self._over_batch(root * torch.linalg.cholesky(_plus_identity(torch.matmul(scaled, scaled.mT))))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor, diagonal = self._parts
        return self._over_batch(torch.matmul(factor, factor.mT) + torch.diag_embed(diagonal))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance (Woodbury's identity)."""
        factor, diagonal = self._parts
        scaled = factor.mT / diagonal.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._over_batch(torch.diag_embed(diagonal.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        like = self.loc.dtype, self.loc.device
        along = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], *like)
        each = _standard_normal(shape, *like)
        factor, diagonal = self._parts
        return self.loc + batch_mv(factor, along) + diagonal.sqrt() * each

    def log_prob(self, value: Tensor) -> TensorBase:
        off = self._mstorch_checked(value) - self.loc
        distance = _batch_lowrank_mahalanobis(*self._parts, off, self._capacitance_tril)
        volume = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + volume + distance)

    def entropy(self) -> Any:
        volume = _batch_lowrank_logdet(*self._parts, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + volume)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


__all__ = ["LowRankMultivariateNormal"]
