"""The Bernoulli distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .exp_family import ExponentialFamily
from .utils import broadcast_all


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Distribution that is 1 with probability ``probs`` (or the sigmoid of ``logits``), else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _mstorch_expands = {"probs": 0, "logits": 0, "_param": 0}

    def __init__(
        self, probs: Tensor | int | float | bool | None = None, logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (given,) = broadcast_all(one_of(probs, logits))
        self._take(*((None, given) if probs is None else (given, None)))
        super().__init__(given.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = torch.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = torch.Size()) -> Any:
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._mstorch_checked(value))
        return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._mstorch_counted(torch.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return torch.log1p(torch.exp(x))


__all__ = ["Bernoulli"]
