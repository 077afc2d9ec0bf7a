"""Continuous relaxations of one-hot vectors (Maddison et al., 2017; Jang et al., 2017)."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import FromCategorical
from .categorical import Categorical
from .transformed_distribution import TransformedDistribution, of_base
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs


class ExpRelaxedCategorical(FromCategorical):
    """Distribution of the logarithms of relaxed one-hot vectors."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _mstorch_expands = {"_categorical": 0}
    _mstorch_keeps = ("temperature",)

    def __init__(
        self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature  # logits plus Gumbel numbers
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        events = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._mstorch_checked(value))
        scale = torch.full_like(self.temperature, float(events)).lgamma() - self.temperature.log().mul(-(events - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Continuous relaxation of OneHotCategorical: samples approach one-hot vectors as ``temperature`` decreases."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _mstorch_expands = {}

    def __init__(
        self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = of_base("temperature", "The temperature.")
    logits = of_base("logits", "The logarithms of the events' probabilities.")
    probs = of_base("probs", "The events' probabilities.")


__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]
