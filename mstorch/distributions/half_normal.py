"""The half-normal distribution."""
from __future__ import annotations

import math

from .._tensor import Tensor
from ._halves import Half
from .normal import Normal


class HalfNormal(Half):
    """Distribution of the absolute value of a normal variable with mean 0 and standard deviation ``scale``."""

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


__all__ = ["HalfNormal"]
