"""The categorical distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._src.core.tensor_base import TensorBase
from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of


class Categorical(ProbsOrLogits):
    """Distribution over event indices 0 to K-1, with the events' probabilities (up to a factor) or logits along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False
    _mstorch_expands = {"probs": 1, "logits": 1, "_param": 1}
    _mstorch_keeps = ("_num_events",)
    _num_events: int

    def __init__(self, probs: Tensor | None = None, logits: Any = None, validate_args: bool | None = None) -> None:
        given = one_of(probs, logits)
        if given.dim() < 1:
            name = "logits" if probs is None else "probs"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self._take(None, logits - logits.logsumexp(dim=-1, keepdim=True))
        else:
            self._take(probs / probs.sum(-1, keepdim=True), None)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return self._mstorch_full(torch.nan, self.probs)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._mstorch_full(torch.nan, self.probs)

    def sample(self, sample_shape: Any = torch.Size()) -> Any:
        sample_shape = torch.Size(sample_shape)
        rows = self.probs if self.probs.dim() == 2 else self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, sample_shape.numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        index, log_pmf = self._mstorch_checked(value).long().unsqueeze(-1), self.logits
        if index.shape[:-1] != log_pmf.shape[:-1]:
            index, log_pmf = torch.broadcast_tensors(index, log_pmf)
            index = index[..., :1]
        return log_pmf.gather(-1, index).squeeze(-1)

    def entropy(self) -> Any:
        finite = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> TensorBase:
        return self._mstorch_counted(torch.arange(self._num_events, dtype=torch.long, device=self._param.device), expand)


__all__ = ["Categorical"]
