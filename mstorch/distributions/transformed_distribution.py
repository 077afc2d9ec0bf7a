"""Distributions of transformed values."""
from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import mstorch as torch

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost


def of_base(path: str, doc: str) -> Any:
    """Return a property that forwards to an attribute of ``base_dist``."""
    return property(attrgetter(f"base_dist.{path}"), doc=doc)


class TransformedDistribution(Distribution):
    """The distribution of values of ``base_distribution`` after applying transforms in order."""

    arg_constraints: Any = {}
    _mstorch_expands = {}
    base_dist: Any

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        wanted, given = whole.domain.event_dim, whole.codomain.event_dim
        if len(base_shape) < wanted:
            raise ValueError(f"base_distribution needs to have shape with size at least {wanted}, but got {base_shape}.")
        # Parameters of the transforms may broadcast: the base then grows to the shape of their values.
        shape = whole.forward_shape(base_shape)
        grown = whole.inverse_shape(shape)
        if grown != base_shape:
            base_distribution = base_distribution.expand(grown[: len(grown) - base_event])
        if wanted > base_event:
            base_distribution = Independent(base_distribution, wanted - base_event)
        self.base_dist = base_distribution
        event_dim = max(given, base_event + given - wanted)
        if len(shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(shape)} must be >= event_dim {event_dim}")
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(self._mstorch_expandable(), _instance)
        batch_shape = torch.Size(batch_shape)
        self._mstorch_expand_into(new, batch_shape)
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._mstorch_finish_expansion(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._mstorch_checked(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(stretch, event_dim - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """Replace a probability by its complement where the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


__all__ = ["TransformedDistribution"]
