"""torch_npu.contrib.module.drop_path: stochastic depth."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn


class NpuDropPath(nn.Module):
    """Stochastic depth: in training, sets whole samples to zero with probability ``drop_prob`` and scales the others."""

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = 0.0 if drop_prob is None else drop_prob
        self.keep_prob = 1 - self.drop_prob

    def forward(self, x: Any) -> Any:
        """Drop samples at random. Raise RuntimeError if ``x`` is not a tensor."""
        if not isinstance(x, torch.Tensor):
            raise RuntimeError("input type error!")
        if self.drop_prob == 0.0 or not self.training:
            return x
        kept = torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype, device=x.device).add(self.keep_prob).floor()
        return x.div(self.keep_prob) * kept

    @classmethod
    def enable_droppath_ensemble(cls, model: Any) -> None:
        """Do nothing: each call draws its own random numbers on the device."""


__all__ = ["NpuDropPath"]
