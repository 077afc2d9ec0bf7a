"""The multinomial distribution."""
from __future__ import annotations

from collections.abc import Sequence

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import FromCategorical
from .binomial import Binomial
from .categorical import Categorical
from .utils import broadcast_all


class Multinomial(FromCategorical):
    """Distribution of the counts of each event in ``total_count`` trials."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _mstorch_expands = {"_categorical": 0, "_binomial": 1}
    _mstorch_keeps = ("total_count",)
    total_count: int

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        sample_shape = torch.Size(sample_shape)
        drawn = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = torch.tensor(self.total_count)
        choices = n * self._categorical.entropy() - torch.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probs = torch.exp(self._binomial.log_prob(support))
        return choices + (probs * torch.lgamma(support + 1)).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, self._mstorch_checked(value))
        logits = torch.where((value == 0) & (logits == -torch.inf), 0.0, logits)  # 0 log 0 is 0
        arrangements = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return arrangements + (logits * value).sum(-1)


__all__ = ["Multinomial"]
