"""torch_npu.contrib.module.focus: YOLO's first layer."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn


class _Conv(nn.Module):
    """Convolution without bias, batch normalization and leaky ReLU."""

    def __init__(self, c1: int, c2: int, k: int, s: int, p: int | None, g: int, act: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2 if p is None else p, groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: Any) -> Any:
        """Return (N, ``c2``, H', W')."""
        return self.act(self.bn(self.conv(x)))

    def fuseforward(self, x: Any) -> Any:
        """Apply the layer without batch normalization, which was folded into the convolution."""
        return self.act(self.conv(x))


class Focus(nn.Module):
    """YOLO's Focus layer: space-to-depth by 2 (C → 4C channels), then a convolution."""

    def __init__(self, c1: int, c2: int, k: int = 1, s: int = 1, p: int | None = None, g: int = 1, act: bool = True) -> None:
        super().__init__()
        self.conv = _Conv(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: Any) -> Any:
        """Return (N, ``c2``, H', W') for images (N, ``c1``, H, W)."""
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


__all__ = ["Focus"]
