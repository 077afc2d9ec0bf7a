"""The Wishart distribution of positive definite matrices."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._tensor import Tensor
from . import constraints
from ._triangular import log_diagonal
from ._triangular import precision_to_scale_tril as _precision_to_scale_tril
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .utils import NUMBERS, lazy_property

_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Return the derivative of the log multivariate gamma function."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = torch.arange(p, dtype=x.dtype, device=x.device).div(2)
    return torch.digamma(x.unsqueeze(-1) - steps.expand(x.shape + (-1,))).sum(-1)


def _clamp_above_eps(x: Tensor) -> Tensor:
    return x.clamp(min=torch.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """Distribution of the sum of outer products of ``df`` normal vectors of mean 0, parametrized by their covariance, precision or Cholesky
    factor."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _mstorch_expands = {
        "_unbroadcasted_scale_tril": 2, "df": 0, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2,
        "_dist_chi2": 1,
    }  # fmt: skip

    def __init__(
        self, df: Tensor | int | float | bool, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        choices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {name: matrix for name, matrix in choices.items() if matrix is not None}
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, NUMBERS):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        size = matrix.shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(size).any():
            warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim."
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        if name == "covariance_matrix":
            matrix = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix
        steps = torch.arange(size, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps.expand(batch_shape + (-1,)))

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1),
        }  # fmt: skip

    @property
    def _batch_dims(self) -> list[int]:
        return [-(dim + 1) for dim in range(len(self._batch_shape))]

    def _over_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._over_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._over_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._over_batch(torch.cholesky_solve(identity, factor))

    def _per_matrix(self, numbers: Tensor) -> Tensor:
        return numbers.view(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Any:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._per_matrix(torch.where(factor <= 0, torch.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        outer = torch.einsum("...i,...j->...ij", diagonal, diagonal)
        return self._per_matrix(self.df) * (matrix.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: tuple[int, ...] = torch.Size()) -> Tensor:
        """Return samples by Bartlett's decomposition: a triangular matrix of chi and normal variables."""
        p = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(dim1=-2, dim2=-1)
        row, column = torch.tril_indices(p, p, offset=-1)
        shape = torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., row, column] = torch.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _any_of_batch(self, checked: Tensor) -> Tensor:
        return checked.amax(self._batch_dims) if self._batch_shape else checked

    def rsample(self, sample_shape: Sequence[int] = torch.Size(), max_try_correction: int | None = None) -> Tensor:
        """Return random matrices; singular ones are resampled, up to ``max_try_correction`` (10) times, as torch does."""
        sample_shape = torch.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        # torch treats the matrices that pass the check as singular; its numbers depend on that.
        again = self._any_of_batch(self.support.check(sample))
        if again.any():
            warn("Singular sample detected.")
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._bartlett_sampling(again[again].shape)
                sample[again] = fresh
                again[again.clone()] = self._any_of_batch(~self.support.check(fresh))
                if not again.any():
                    break
        return sample

    def log_prob(self, value: Tensor) -> TensorBase:
        value, nu, p = self._mstorch_checked(value), self.df, self._event_shape[-1]
        scale = -nu * (p * _log_2 / 2 + log_diagonal(self._unbroadcasted_scale_tril)) - torch.mvlgamma(nu / 2, p=p)
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return scale + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        volume = (p + 1) * (p * _log_2 / 2 + log_diagonal(self._unbroadcasted_scale_tril))
        return volume + torch.mvlgamma(nu / 2, p=p) - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + _log_2 * p) + torch.mvlgamma(half, p=p)


__all__ = ["Wishart"]
