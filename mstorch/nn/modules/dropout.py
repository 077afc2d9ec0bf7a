"""Dropout layers; on the CPU they draw the same masks as torch."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from ._looked_up import LookedUp
from .module import Module


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    _function: Any

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets elements to 0 with probability p in training and divides the others by 1 - p (https://arxiv.org/abs/1207.0580)."""

    _function = LookedUp("dropout")


class Dropout1d(_DropoutNd):
    """Sets whole channels of (N, C, L) or (C, L) to 0."""

    _function = LookedUp("dropout1d")


class Dropout2d(_DropoutNd):
    """Sets whole channels of (N, C, H, W) to 0."""

    _function = LookedUp("dropout2d")


class Dropout3d(_DropoutNd):
    """Sets whole channels of (N, C, D, H, W) or (C, D, H, W) to 0."""

    _function = LookedUp("dropout3d")


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of self-normalizing networks (https://arxiv.org/abs/1706.02515)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels (N, C, *)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        return F.feature_alpha_dropout(input, self.p, self.training)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
