"""Symmetric distributions folded at zero."""
from __future__ import annotations

import math

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """Distribution of the absolute value of a variable with location 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mstorch_expands = {}
    _whole: type

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = of_base("scale", "The scale of the whole distribution.")

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        whole = self.base_dist.log_prob(self._mstorch_checked(value)) + math.log(2)
        return torch.where(value >= 0, whole, -torch.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(self._mstorch_checked(value)) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
