"""The inverse gamma distribution."""
from __future__ import annotations

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import PowerTransform


class InverseGamma(TransformedDistribution):
    """Distribution of the reciprocal of a gamma variable with shape ``concentration`` and rate ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _mstorch_expands = {}

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = of_base("concentration", "The shape of the gamma distribution.")
    rate = of_base("rate", "The rate of the gamma distribution.")

    @property
    def mean(self) -> Tensor:
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), torch.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), torch.inf)

    def entropy(self) -> TensorBase:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


__all__ = ["InverseGamma"]
