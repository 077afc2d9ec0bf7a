"""The logistic-normal distribution."""
from __future__ import annotations

from .._tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Distribution of probability vectors, made from normal vectors by stick breaking; a vector has one element more than ``loc``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _mstorch_expands = {}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = of_base("base_dist.loc", "The means of the normal numbers.")
    scale = of_base("base_dist.scale", "The standard deviations of the normal numbers.")


__all__ = ["LogisticNormal"]
