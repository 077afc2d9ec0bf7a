"""Transforms of tensors with their inverses, log-derivatives, and shape functions."""
from __future__ import annotations

import math
from typing import Any

import mstorch as torch
from mstorch.nn.functional import logsigmoid, pad, softplus

from .._tensor import Tensor
from . import constraints
from ._transform_base import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _Alike,
    identity_transform,
)  # fmt: skip
from ._transform_base import _InverseTransform as _InverseTransform
from ._transform_matrices import CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform
from ._transform_parts import CatTransform, StackTransform
from .distribution import Distribution
from .utils import NUMBERS, broadcast_all, lazy_property


class ExpTransform(_Alike):
    """Maps x to exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class _Broadcasting(Transform):
    """Base of transforms with parameters that broadcast against the values."""

    _parameters: tuple[str, ...] = ()

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return torch.broadcast_shapes(shape, *(getattr(getattr(self, name), "shape", ()) for name in self._parameters))

    inverse_shape = forward_shape


class PowerTransform(_Broadcasting):
    """Maps positive x to x ** exponent."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _parameters = ("exponent",)

    def __init__(self, exponent: Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _mstorch_rebuilt(self, cache_size: int) -> Any:
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> int:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and self.exponent.eq(other.exponent).all().item()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


def _clipped_sigmoid(x: Tensor) -> Tensor:
    info = torch.finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Alike):
    """Maps x to 1 / (1 + exp(-x)), clamped off 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = torch.finfo(y.dtype)
        inner = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return inner.log() - (-inner).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Alike):
    """Maps x to log(1 + exp(x))."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Alike):
    """Maps x to tanh(x)."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))  # log(1 - tanh²) without cancellation


class AbsTransform(_Alike):
    """Maps x to |x|; the inverse is the identity."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _equal_parameters(one: Any, other: Any) -> bool:
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return one == other
    return bool((one == other).all().item())


class AffineTransform(_Broadcasting):
    """Maps x to loc + scale * x, with events of ``event_dim`` dimensions."""

    bijective = True
    _parameters = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def _mstorch_rebuilt(self, cache_size: int) -> Any:
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal_parameters(self.loc, other.loc)
            and _equal_parameters(self.scale, other.scale)
        )

    @property
    def sign(self) -> Tensor | int:
        if isinstance(self.scale, NUMBERS):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape = x.shape
        if isinstance(self.scale, NUMBERS):
            stretch = torch.full_like(x, math.log(abs(self.scale)))
        else:
            stretch = torch.abs(self.scale).log()
        if self.event_dim:
            stretch = stretch.view(stretch.size()[: -self.event_dim] + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return stretch.expand(shape)


class _OfVectors(Transform):
    """Base of transforms of vectors, which have at least one dimension."""

    _grows = 0

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._moved(shape, self._grows)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._moved(shape, -self._grows)

    @staticmethod
    def _moved(shape: tuple[int, ...], by: int) -> tuple[int, ...]:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + by,) if by else shape


class SoftmaxTransform(_OfVectors, _Alike):
    """Softmax along the last dimension; the inverse is the logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(_OfVectors, _Alike):
    """Maps vectors to probability vectors one element longer, by stick breaking."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _grows = 1

    @staticmethod
    def _ms_offset(x: Tensor, length: int, width: int) -> Tensor:
        return (length - x.new_ones(width).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        z = _clipped_sigmoid(x - self._ms_offset(x, x.shape[-1] + 1, x.shape[-1]))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        rest = torch.clamp(1 - shares.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return shares.log() - rest.log() + self._ms_offset(y, y.shape[-1], shares.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._ms_offset(x, x.shape[-1] + 1, x.shape[-1])
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)


class CumulativeDistributionTransform(Transform):
    """Maps a distribution's values to probabilities, by its ``cdf``."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint | None:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def _mstorch_rebuilt(self, cache_size: int) -> Any:
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
