"""The exponential distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily


class Exponential(ExponentialFamily):
    """Distribution of the waiting times of events that occur at ``rate``."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _mstorch_expands = {"rate": 0}
    rate: Any

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._mstorch_begin(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * self._mstorch_checked(value)

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - torch.exp(-self.rate * self._mstorch_checked(value))

    def icdf(self, value: Tensor) -> Any:
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1.0 - torch.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -torch.log(-x)


__all__ = ["Exponential"]
