"""xformers' gated layer, and its functions on rows, which stochastic depth of vision transformers (DINOv2) is written with."""
from __future__ import annotations

from collections.abc import Sequence

import mstorch as torch

Tensor = torch.Tensor
_F = torch.nn.functional


def swiglu(
    x: Tensor, w1: Tensor, b1: Tensor | None, w2: Tensor, b2: Tensor | None, w3: Tensor, b3: Tensor | None, *, op: object = None
) -> Tensor:
    """Return silu of one linear layer times another one, through a third. ``op`` is of no matter here."""
    return _F.linear(_F.silu(_F.linear(x, w1, b1)) * _F.linear(x, w2, b2), w3, b3)


class SwiGLU(torch.nn.Module):
    """The layer of ``swiglu``; the first two layers' weights are one (``w12``), unless ``_pack_weights`` is False."""

    def __init__(
        self, in_features: int, hidden_features: int, out_features: int | None = None, bias: bool = True, *, _pack_weights: bool = True
    ) -> None:
        super().__init__()
        self.in_features, self.hidden_features = in_features, hidden_features
        self.out_features = in_features if out_features is None else out_features
        self.op = None
        self.w12 = torch.nn.Linear(in_features, 2 * hidden_features, bias=bias) if _pack_weights else None
        if not _pack_weights:
            self.w1 = torch.nn.Linear(in_features, hidden_features, bias=bias)
            self.w2 = torch.nn.Linear(in_features, hidden_features, bias=bias)
        self.w3 = torch.nn.Linear(hidden_features, self.out_features, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's outputs."""
        gate, value = (self.w1(x), self.w2(x)) if self.w12 is None else self.w12(x).chunk(2, -1)
        return self.w3(_F.silu(gate) * value)


def rms_norm(x: Tensor, weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Return the last dimension divided by its root mean square, times a weight."""
    return _F.rms_norm(x, (x.shape[-1],), weight, eps)


def rms_norm_add(x: Tensor, y: Tensor, weight: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Add ``y`` to ``x`` in its memory, and return the sum's RMS norm."""
    return rms_norm(x.add_(y), weight, eps)


class RMSNorm(torch.nn.Module):
    """RMS norm over the last dimension."""

    def __init__(self, dim: int, include_weight: bool = True, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim)) if include_weight else None

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalization."""
        return rms_norm(x, self.weight, self.eps)

    def increment_and_forward_(self, x: Tensor, y: Tensor) -> Tensor:
        """Add ``y`` to ``x`` in its memory, and return the sum's normalization."""
        return rms_norm_add(x, y, self.weight, self.eps)


def unbind(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """Return torch.unbind's tensors."""
    return torch.unbind(x, dim)


def index_select_cat(sources: Sequence[Tensor], indices: Sequence[Tensor]) -> Tensor:
    """Return chosen rows of several tensors as one flat tensor."""
    return torch.cat([source.index_select(0, index.long()).flatten() for source, index in zip(sources, indices)])


def scaled_index_add(input: Tensor, index: Tensor, source: Tensor, scaling: Tensor | None = None, alpha: float = 1.0) -> Tensor:
    """Return (batch, places, channels) plus ``alpha`` times other rows, scaled by channel, at their places in the batch."""
    rows = source if scaling is None else source * scaling.to(source.dtype)
    return torch.index_add(input, 0, index.long(), rows.to(input.dtype), alpha=alpha)


__all__ = ["RMSNorm", "SwiGLU", "index_select_cat", "rms_norm", "rms_norm_add", "scaled_index_add", "swiglu", "unbind"]
