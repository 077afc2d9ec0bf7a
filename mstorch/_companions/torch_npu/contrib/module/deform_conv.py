"""torch_npu.contrib.module.deform_conv: convolutions at positions that are computed."""
from __future__ import annotations

from ..sampled import DCNv2, ModulatedDeformConv

__all__ = ["DCNv2", "ModulatedDeformConv"]
