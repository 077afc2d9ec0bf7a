"""torch_npu.contrib.function.iou: overlaps of boxes."""
from __future__ import annotations

from ..boxes import npu_ciou, npu_diou, npu_giou, npu_iou, npu_ptiou

__all__ = ["npu_ciou", "npu_diou", "npu_giou", "npu_iou", "npu_ptiou"]
