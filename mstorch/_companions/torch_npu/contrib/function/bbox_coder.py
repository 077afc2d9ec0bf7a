"""torch_npu.contrib.function.bbox_coder: deltas of boxes."""
from __future__ import annotations

from ..boxes import npu_bbox_coder_decode_xywh2xyxy, npu_bbox_coder_encode_xyxy2xywh

__all__ = ["npu_bbox_coder_decode_xywh2xyxy", "npu_bbox_coder_encode_xyxy2xywh"]
