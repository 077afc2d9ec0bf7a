"""torch_npu.contrib.module.channel_shuffle: the layer of ShuffleNet."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn

F = nn.functional


class ChannelShuffle(nn.Module):
    """Interleaves the channels of two tensors, as one tensor or (``split_shuffle``) as two halves. As in torch_npu there are two groups."""

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.split_shuffle, self.groups, self.group_len = split_shuffle, groups, in_channels // groups

    def forward(self, x1: Any, x2: Any) -> Any:
        """Return one tensor with the channels of both, or two halves."""
        mixed = F.channel_shuffle(torch.cat([x1, x2], dim=1), self.groups)
        return (mixed[:, : self.group_len], mixed[:, self.group_len :]) if self.split_shuffle else mixed


__all__ = ["ChannelShuffle"]
