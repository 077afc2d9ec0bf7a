"""Random layers, decomposed as torch does: dropout, channel dropout, alpha dropout, rrelu."""
from __future__ import annotations

import math

from ..._tensor import Tensor
from ..core.formats import contiguous_format
from ..core.generator import Generator
from .calling import NotInTerms
from .composites import COMPOSITES, aten, composite

_ALPHA = 1.7580993408473766


def _times(input: Tensor, factor: Tensor, inplace: bool) -> Tensor:
    return aten("mul_.Tensor" if inplace else "mul.Tensor", input, factor)


def _drawn(input: Tensor, p: float, channels: bool) -> Tensor:
    """Return a Bernoulli(1 - p) mask, per element or per channel."""
    shape = [*input.shape[:2], *[1] * (input.dim() - 2)]
    memory = aten("new_empty", input, shape) if channels else aten("empty_like", input)
    return aten("bernoulli_.float", memory, 1 - p)


def _dropped(input: Tensor, p: float, train: bool, *, channels: bool = False, alpha: bool = False, inplace: bool = False) -> Tensor:
    if p < 0 or p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return _times(input, aten("zeros", [], dtype=input.dtype, layout=input.layout, device=input.device), inplace)
    if channels and input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    noise = _drawn(input, p, channels)
    if not alpha:
        return _times(input, aten("div_.Scalar", noise, 1 - p), inplace)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = aten("add_.Scalar", aten("mul_.Scalar", aten("add.Scalar", noise, -1), _ALPHA * scale), _ALPHA * scale * p)
    return aten("add_.Tensor", _times(input, aten("mul_.Scalar", noise, scale), inplace), shift)


@composite("dropout")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability ``p`` in training, and scale the others by 1 / (1 - p)."""
    return _dropped(input, p, training, inplace=inplace)


@composite("alpha_dropout")
def _alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return _dropped(input, p, training, alpha=True, inplace=inplace)


@composite("feature_alpha_dropout")
def _feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return _dropped(input, p, training, channels=True, alpha=True, inplace=inplace)


def _as_operator(name: str, **kinds: bool) -> None:
    COMPOSITES[name] = lambda input, p, train: _dropped(input, p, train, **kinds)


_as_operator("feature_dropout", channels=True)
_as_operator("dropout_", inplace=True)
_as_operator("alpha_dropout_", alpha=True, inplace=True)
_as_operator("feature_dropout_", channels=True, inplace=True)
_as_operator("feature_alpha_dropout_", channels=True, alpha=True, inplace=True)


@composite("rrelu")
def _rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False,
    generator: Generator | None = None
) -> Tensor:
    if generator is not None or not isinstance(inplace, bool):  # ``torch.rrelu`` has a generator at this position
        raise NotInTerms("mstorch: rrelu with a generator is not known in the terms of torch.ops.aten")
    noise = aten("empty_like", input, memory_format=contiguous_format)
    return aten(f"rrelu_with_noise{'_' * inplace}", input, noise, lower, upper, training)


@composite("rrelu_")
def _rrelu_in_place(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Generator | None = None
) -> Tensor:
    return _rrelu(input, lower, upper, training, True, generator)
