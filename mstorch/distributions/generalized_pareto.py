"""The generalized Pareto distribution."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution


class GeneralizedPareto(Distribution):
    """Excesses over a threshold ``loc``; ``concentration`` 0 gives the exponential distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _mstorch_expands = {"loc": 0, "scale": 0, "concentration": 0}
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc: Any, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self._mstorch_begin(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _shape_parts(self) -> tuple[Any, Any]:
        """Return a mask of concentrations that are close to zero, and the concentration with these replaced by 1."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        z = self._z(self._mstorch_checked(value))
        zero, safe = self._shape_parts()
        power = 1 / safe + torch.ones_like(z)
        heavy = torch.where(power == 0, power, power * torch.log1p(safe * z))
        return -self.scale.log() - torch.where(zero, z, heavy)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the log probability of values above ``value``."""
        z = self._z(self._mstorch_checked(value))
        zero, safe = self._shape_parts()
        return torch.where(zero, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of ``cdf``."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, safe = self._shape_parts()
        log_rest = torch.log1p(-value)
        heavy = self.loc + self.scale / safe * torch.expm1(-safe * log_rest)
        return torch.where(zero, self.loc - self.scale * log_rest, heavy)

    def _moment(self, limit: float, stand_in: float, moment: Callable[..., Any]) -> Tensor:
        """Return ``moment(concentration)`` where the concentration is below ``limit``, else NaN. ``stand_in`` replaces concentrations
        beyond the limit, so that gradients are finite."""
        valid = self.concentration < limit
        return torch.where(valid, moment(torch.where(valid, self.concentration, stand_in)), torch.nan)

    @property
    def mean(self) -> Any:
        return self._moment(1, 0.5, lambda c: self.loc + self.scale / (1 - c))

    @property
    def variance(self) -> Tensor:
        return self._moment(0.5, 0.25, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)))

    def entropy(self) -> Any:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        return constraints.interval(self.loc, end)


__all__ = ["GeneralizedPareto"]
