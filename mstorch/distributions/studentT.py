"""Student's t distribution."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal


class StudentT(Distribution):
    """Student's t distribution with ``df`` degrees of freedom, location ``loc`` and scale ``scale``."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mstorch_expands = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}
    df: Any
    loc: Any
    scale: Any

    def __init__(
        self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        self._mstorch_begin(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.df <= 1, torch.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        # Infinite from 1 to 2 degrees of freedom, undefined below.
        wide = torch.where(self.df > 2, self.df, 3.0)
        other = torch.where(self.df > 1, torch.inf, torch.nan).to(self.df.dtype)
        return torch.where(self.df > 2, self.scale.pow(2) * wide / (wide - 2), other)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        # The normal numbers are drawn before the chi-squared ones.
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * (normal * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def _log_beta(self) -> Tensor:
        return torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1.0))

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self._mstorch_checked(value) - self.loc) / self.scale
        scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + self._log_beta()
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - scale

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        spread = next_half * (torch.digamma(next_half) - torch.digamma(half))
        return self.scale.log() + spread + 0.5 * self.df.log() + (self._log_beta() + math.lgamma(0.5))


__all__ = ["StudentT"]
