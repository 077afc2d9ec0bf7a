"""torch_npu.contrib.module.ensemble_dropout: dropout under torch_npu's names."""
from __future__ import annotations

from typing import Any

from mstorch import nn


class NpuCachedDropout(nn.Dropout):
    """Dropout; ``module_name`` is stored only."""

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    @classmethod
    def enable_dropout_ensemble(cls, model: Any) -> None:
        """Do nothing: each call draws its own mask on the device."""


class NpuPreGenDropout(NpuCachedDropout):
    """Dropout, under torch_npu's name."""


class NpuFairseqDropout(NpuCachedDropout):
    """Dropout, under torch_npu's name."""


__all__ = ["NpuCachedDropout", "NpuFairseqDropout", "NpuPreGenDropout"]
