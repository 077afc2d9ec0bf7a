"""The one-hot categorical distribution."""
from __future__ import annotations

from collections.abc import Sequence

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import FromCategorical
from .categorical import Categorical


class OneHotCategorical(FromCategorical):
    """Distribution of one-hot vectors of the sampled event."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _mstorch_expands = {"_categorical": 0}

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _one_hot(self, index: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(index, self._categorical._num_events).to(self.probs)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self._one_hot(self._categorical.sample(torch.Size(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(self._mstorch_checked(value).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples have straight-through gradients to the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())


__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]
