"""torch_npu.contrib.function.anchor_generator: cells that answer for boxes."""
from __future__ import annotations

from ..boxes import npu_single_level_responsible_flags

__all__ = ["npu_single_level_responsible_flags"]
