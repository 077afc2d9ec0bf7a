"""The binomial distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .utils import broadcast_all


def _clamp_by_zero(x: Tensor) -> Tensor:
    """Return ``max(x, 0)``, with gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """Distribution of the number of successes with probability ``probs`` in ``total_count`` trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True
    _mstorch_expands = {"total_count": 0, "probs": 0, "logits": 0, "_param": 0}

    def __init__(
        self, total_count: Tensor | int = 1, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        count, given = broadcast_all(total_count, one_of(probs, logits))
        self._take(*((None, given) if probs is None else (given, None)))
        self.total_count = count.type_as(given)
        super().__init__(given.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = torch.Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        value, n, logits = self._mstorch_checked(value), self.total_count, self.logits
        choices = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        # n log(1 + e^logits) without overflow
        return value * logits + choices - n * (_clamp_by_zero(logits) + torch.log1p(torch.exp(-torch.abs(logits))))

    def _one_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        return self._mstorch_counted(torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)


__all__ = ["Binomial"]
