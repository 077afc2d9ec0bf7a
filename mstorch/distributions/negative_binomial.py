"""The negative binomial distribution."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .gamma import Gamma
from .utils import broadcast_all, lazy_property


class NegativeBinomial(ProbsOrLogits):
    """Distribution of the number of successes, each with probability ``probs``, before ``total_count`` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    _mstorch_expands = {"total_count": 0, "probs": 0, "logits": 0, "_param": 0}

    def __init__(
        self, total_count: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        count, given = broadcast_all(total_count, one_of(probs, logits))
        self._take(*((None, given) if probs is None else (given, None)))
        self.total_count = count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # The rate is not validated: it is infinite or 0 where ``probs`` is 0 or 1.
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Any:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Any) -> Any:
        value, n = self._mstorch_checked(value), self.total_count
        log_sigmoid = torch.nn.functional.logsigmoid
        weight = n * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits)
        scale = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return weight - scale.masked_fill(n + value == 0.0, 0.0)


__all__ = ["NegativeBinomial"]
