"""torch_npu.contrib.function: replacements of torch functions in models written for Ascend."""
from __future__ import annotations

from .anchor_generator import npu_single_level_responsible_flags
from .bbox_coder import npu_bbox_coder_decode_xywh2xyxy, npu_bbox_coder_encode_xyxy2xywh
from .fuse_add_softmax_dropout import fuse_add_softmax_dropout
from .index_op import npu_fast_condition_index_put
from .iou import npu_ciou, npu_diou, npu_giou, npu_iou, npu_ptiou
from .matmul_transpose import matmul_transpose
from .npu_functional import dropout_with_byte_mask
from .roll import roll

__all__ = [
    "dropout_with_byte_mask", "fuse_add_softmax_dropout", "matmul_transpose", "npu_bbox_coder_decode_xywh2xyxy",
    "npu_bbox_coder_encode_xyxy2xywh", "npu_ciou", "npu_diou", "npu_fast_condition_index_put", "npu_giou", "npu_iou", "npu_ptiou",
    "npu_single_level_responsible_flags", "roll",
]  # fmt: skip
