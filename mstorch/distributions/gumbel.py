"""The Gumbel distribution."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import NUMBERS, broadcast_all, euler_constant


class Gumbel(TransformedDistribution):
    """The Gumbel (maximum) distribution with location ``loc`` and scale ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _mstorch_expands = {"loc": 0, "scale": 0}

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        low: Any = info.tiny
        high: Any = 1 - info.eps
        if not (isinstance(loc, NUMBERS) and isinstance(scale, NUMBERS)):
            low, high = torch.full_like(self.loc, low), torch.full_like(self.loc, high)
        log = ExpTransform().inv
        steps = [log, AffineTransform(0, -torch.ones_like(self.scale)), ExpTransform().inv, AffineTransform(loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - self._mstorch_checked(value)) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


__all__ = ["Gumbel"]
