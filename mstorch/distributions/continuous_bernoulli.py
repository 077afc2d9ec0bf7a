"""The continuous Bernoulli distribution (Loaiza-Ganem and Cunningham, 2019)."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1], with density proportional to ``probs^x (1 - probs)^(1-x)``. Series are used for
    ``probs`` within ``lims``, an interval around 1/2."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _mstorch_expands = {"probs": 0, "logits": 0, "_param": 0}
    _mstorch_keeps = ("_lims",)

    def __init__(
        self, probs: Tensor | int | float | bool | None = None, logits: Tensor | int | float | bool | None = None,
        lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        (given,) = broadcast_all(one_of(probs, logits))
        if probs is None:
            self._take(None, given)
        else:
            if validate_args is not None and not self.arg_constraints["probs"].check(given).all():
                raise ValueError("The parameter probs has invalid values")
            self._take(clamp_probs(given), None)
        self._lims = lims
        super().__init__(given.size(), validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities of the underlying Bernoulli distribution."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Return the probabilities, with those near 1/2 replaced by a safe value."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        p = self._cut_probs()
        low = torch.where(p <= 0.5, p, torch.zeros_like(p))
        high = torch.where(p >= 0.5, p, torch.ones_like(p))
        divisor = torch.where(p <= 0.5, torch.log1p(-2.0 * low), torch.log(2.0 * high - 1.0))
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - divisor
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._outside_unstable_region(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x
        return torch.where(self._outside_unstable_region(), exact, series)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(torch.log1p(-p) - torch.log(p), 2)
        x = torch.pow(self.probs - 0.5, 2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return torch.where(self._outside_unstable_region(), exact, series)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._mstorch_checked(value))
        discrete = torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -discrete + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        value, p = self._mstorch_checked(value), self._cut_probs()
        exact = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inner = torch.where(self._outside_unstable_region(), exact, value)
        capped = torch.where(value >= 1.0, torch.ones_like(value), inner)
        return torch.where(value <= 0.0, torch.zeros_like(value), capped)

    def icdf(self, value: Tensor) -> Any:
        p = self._cut_probs()
        left = torch.log1p(-p)
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - left) / (torch.log(p) - left)
        return torch.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Any:
        left, right = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (left - right) - self._cont_bern_log_norm() - left

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = (limit - 0.5 for limit in self._lims)
        stable = (x <= low) | (x > high)
        cut = torch.where(stable, x, low * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(stable, exact, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)


__all__ = ["ContinuousBernoulli"]
