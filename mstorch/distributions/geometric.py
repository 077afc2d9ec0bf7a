"""The geometric distribution."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from ._parameters import ProbsOrLogits, one_of
from .utils import broadcast_all


class Geometric(ProbsOrLogits):
    """Distribution of the number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _mstorch_expands = {"probs": 0, "logits": 0, "_param": 0}

    def __init__(
        self, probs: Tensor | int | float | bool | None = None, logits: Tensor | int | float | bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (given,) = broadcast_all(one_of(probs, logits))
        self._take(*((None, given) if probs is None else (given, None)))
        super().__init__(given.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            valid = given > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(given).__name__} of shape {tuple(given.shape)}) of distribution {self!r} "
                    f"to be positive but found invalid values:\n{given.data[~valid]}"
                )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = torch.Size()) -> Any:
        with torch.no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape))
            u.uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(self._mstorch_checked(value), self.probs)
        probs = torch.where((probs == 1) & (value == 0), 0.0, probs)  # 0 log 0 is 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        once = torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return once / self.probs


__all__ = ["Geometric"]
