"""The Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution


class Cauchy(Distribution):
    """The Cauchy (Lorentz) distribution with median ``loc`` and half width ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mstorch_expands = {"loc": 0, "scale": 0}
    loc: Any
    scale: Any

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._mstorch_begin(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self._mstorch_full(torch.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._mstorch_full(torch.inf, self.loc)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        off = (self._mstorch_checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (off**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return torch.atan((self._mstorch_checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Any:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


__all__ = ["Cauchy"]
