"""Channel shuffle."""
from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class ChannelShuffle(Module):
    """Interleaves the channels of ``groups`` groups of (N, C, *) (https://arxiv.org/abs/1707.01083)."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, *) → (N, C, *)."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"groups={self.groups}"


__all__ = ["ChannelShuffle"]
