"""Mixtures of distributions of one family."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint, dependent_property
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A mixture of the components along the last batch dimension, selected by a categorical distribution."""

    arg_constraints: Any = {}
    has_rsample = False
    _mstorch_expands = {"_component_distribution": 1, "_mixture_distribution": 0}
    _mstorch_keeps = ("_num_component", "_event_ndims")
    _num_component: int
    _event_ndims: int

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        self._mixture_distribution: Any = mixture_distribution
        self._component_distribution: Any = component_distribution
        choices, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(m != 1 and n != 1 and m != n for m, n in zip(reversed(choices), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({choices}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        count = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    @dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The categorical distribution over components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The batch of component distributions."""
        return self._component_distribution

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _weighted(self, values: Tensor) -> Tensor:
        """Return the mean over the components, weighted by their probabilities."""
        probs = self.mixture_distribution.probs
        choices = len(self.mixture_distribution.batch_shape)
        missing = 0 if choices == 1 else len(self.batch_shape) - choices
        shape = probs.shape[:-1] + (1,) * missing + probs.shape[-1:] + (1,) * self._event_ndims
        return torch.sum(probs.reshape(shape) * values, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._weighted(self.component_distribution.variance)
        between = self._weighted((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))
        return within + between

    def cdf(self, x: Tensor) -> Tensor:
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        each = self.component_distribution.log_prob(self._pad(self._mstorch_checked(x)))
        return torch.logsumexp(each + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> TensorBase:
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            choice = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            inner = self._event_ndims + 1
            index = choice.reshape(choice.shape + (1,) * inner).repeat((1,) * choice.dim() + (1,) + tuple(self.event_shape))
            return torch.gather(values, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


__all__ = ["MixtureSameFamily"]
