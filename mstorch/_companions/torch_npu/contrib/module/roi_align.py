"""torch_npu.contrib.module.roi_align: averages over regions."""
from __future__ import annotations

from ..sampled import ROIAlign

__all__ = ["ROIAlign"]
