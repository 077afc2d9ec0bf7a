"""Base class of exponential family distributions."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .distribution import Distribution


class ExponentialFamily(Distribution):
    """Base of distributions with density ``exp(<t(x), θ> - F(θ) + k(x))``, whose entropy is derived from F by differentiation."""

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Any:
        """Return the entropy, by a Bregman divergence of the log normalizer (Nielsen and Nock, 2010)."""
        carrier = self._mean_carrier_measure
        params = [param.detach().requires_grad_() for param in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - carrier
        for param, slope in zip(params, slopes):
            result = result - (param * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result


__all__ = ["ExponentialFamily"]
