"""Continuous relaxations of Bernoulli variables (Maddison et al., 2017; Jang et al., 2017)."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs


class LogitRelaxedBernoulli(ProbsOrLogits):
    """Distribution of the logits of relaxed Bernoulli variables: logistic noise added to ``logits``, divided by ``temperature``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _mstorch_expands = {"probs": 0, "logits": 0, "_param": 0}
    _mstorch_keeps = ("temperature",)

    def __init__(
        self, temperature: Tensor, probs: Tensor | int | float | bool | None = None, logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        (given,) = broadcast_all(one_of(probs, logits))
        self._take(*((None, given) if probs is None else (given, None)))
        super().__init__(given.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._mstorch_checked(value))
        off = logits - value.mul(self.temperature)
        return self.temperature.log() + off - 2 * off.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Continuous relaxation of Bernoulli: samples in (0, 1) approach 0 or 1 as ``temperature`` decreases."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mstorch_expands = {}

    def __init__(
        self, temperature: Tensor, probs: Tensor | int | float | bool | None = None, logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = of_base("temperature", "The temperature.")
    logits = of_base("logits", "The log-odds.")
    probs = of_base("probs", "The probabilities.")


__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]
