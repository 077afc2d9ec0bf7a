"""torch_npu.contrib: ``from torch_npu.contrib import transfer_to_npu`` makes "cuda" an alias of "npu"; layers and functions of models for
Ascend.

They are written with torch operations. Box suppression (NMS), YOLO's deltas, ``PSROIPool``, ``FusedColorJitter``, quantized layers, the old
fused attention and ``MultiheadAttention`` are missing: importing one raises ImportError with its name.
"""
from __future__ import annotations

from ...._src.version import __version__ as _own
from . import function as function
from . import module as module
from .function import (
    fuse_add_softmax_dropout,
    matmul_transpose,
    npu_bbox_coder_decode_xywh2xyxy,
    npu_bbox_coder_encode_xyxy2xywh,
    npu_ciou,
    npu_diou,
    npu_fast_condition_index_put,
    npu_giou,
    npu_iou,
    npu_ptiou,
    npu_single_level_responsible_flags,
    roll,
)
from .module import (
    BiLSTM,
    ChannelShuffle,
    DCNv2,
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    FastSyncBatchNorm,
    Focus,
    LabelSmoothingCrossEntropy,
    Mish,
    ModulatedDeformConv,
    NpuCachedDropout,
    NpuDropPath,
    NpuFairseqDropout,
    Prefetcher,
    ROIAlign,
    SiLU,
    Swish,
)


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'torch_npu.contrib' has no attribute '{name}' (mstorch {_own} does not provide it yet)", name=name)


__all__ = [
    "BiLSTM", "ChannelShuffle", "DCNv2", "FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d", "FastSyncBatchNorm", "Focus",
    "LabelSmoothingCrossEntropy", "Mish", "ModulatedDeformConv", "NpuCachedDropout", "NpuDropPath", "NpuFairseqDropout",
    "Prefetcher", "ROIAlign", "SiLU", "Swish", "fuse_add_softmax_dropout", "matmul_transpose", "npu_bbox_coder_decode_xywh2xyxy",
    "npu_bbox_coder_encode_xyxy2xywh", "npu_ciou", "npu_diou", "npu_fast_condition_index_put", "npu_giou", "npu_iou", "npu_ptiou",
    "npu_single_level_responsible_flags", "roll",
]  # fmt: skip
