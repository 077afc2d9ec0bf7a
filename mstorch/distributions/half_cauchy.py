"""The half-Cauchy distribution."""
from __future__ import annotations

import mstorch as torch

from .._tensor import Tensor
from ._halves import Half
from .cauchy import Cauchy


class HalfCauchy(Half):
    """Distribution of the absolute value of a variable of Cauchy(0, ``scale``)."""

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return self._mstorch_full(torch.inf, self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        return super().log_prob(torch.as_tensor(self._mstorch_checked(value), dtype=self.scale.dtype, device=self.scale.device))


__all__ = ["HalfCauchy"]
