"""The Laplace distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution


class Laplace(Distribution):
    """The Laplace (double exponential) distribution with location ``loc`` and scale ``scale``."""

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
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        u = self.loc.new_empty(self._extended_shape(sample_shape))
        u.uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        return -torch.log(2 * self.scale) - torch.abs(self._mstorch_checked(value) - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        off = self._mstorch_checked(value) - self.loc
        return 0.5 - 0.5 * off.sign() * torch.expm1(-off.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * torch.log1p(-2 * off.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)


__all__ = ["Laplace"]
