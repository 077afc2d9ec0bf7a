"""The Fisher-Snedecor F distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma


class FisherSnedecor(Distribution):
    """Distribution of the ratio of two chi-squared variables, each divided by its degrees of freedom ``df1`` and ``df2``."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _mstorch_expands = {"df1": 0, "df2": 0, "_gamma1": 0, "_gamma2": 0}
    df1: Any
    df2: Any

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self._mstorch_begin(validate_args, df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)

    def _df2_above(self, limit: float) -> Tensor:
        """Return ``df2``, with NaN where it is not above ``limit`` and a moment does not exist."""
        return torch.where(self.df2 <= limit, torch.nan, self.df2)

    @property
    def mean(self) -> Tensor:
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 <= 2, torch.nan, mode)

    @property
    def variance(self) -> Tensor:
        df2 = self._df2_above(4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        over = self._gamma1.rsample(sample_shape).view(shape)
        under = self._gamma2.rsample(sample_shape).view(shape)
        tiny = torch.finfo(under.dtype).tiny
        under.clamp_(min=tiny)
        return (over / under).clamp_(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._mstorch_checked(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        scale = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return scale + (a * ratio.log() + (a - 1) * torch.log(value)) - (a + b) * torch.log1p(ratio * value)


__all__ = ["FisherSnedecor"]
