"""Distributions parametrized by probabilities or logits, each derived from the other."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits


def one_of(probs: Tensor | float | None, logits: Any) -> Any:
    """Return the value that is not None. Raise ValueError if neither or both are given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return logits if probs is None else probs


class ProbsOrLogits(Distribution):
    """Base of distributions that hold ``probs`` or ``logits``, whichever was given (also as ``_param``); the other is computed lazily."""

    _binary = True
    _param: Any

    def _take(self, probs: Tensor | None, logits: Any) -> Any:
        """Store and return the given parameter."""
        if logits is None:
            self.probs = self._param = probs
        else:
            self.logits = self._param = logits
        return self._param

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds, or the log-probabilities of several events."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def param_shape(self) -> tuple[int, ...]:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class FromCategorical(Distribution):
    """Base of distributions over the events of a categorical distribution, which ``_categorical`` holds."""

    _categorical: Any

    @property
    def probs(self) -> Tensor:
        """The events' probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log-probabilities of the events."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
