"""torch_npu.contrib: ``from torch_npu.contrib import transfer_to_npu`` lets cuda mean npu; layers and functions of models for Ascend.

What stands here is written with torch's own operations. Convolutions with offsets, pooling of regions, quantised layers, boxes and
``MultiheadAttention`` are not here: importing one raises ImportError with its name.
"""
from __future__ import annotations

from ..._version import __version__ as _own
from . import function as function
from . import module as module
from .function import fuse_add_softmax_dropout, matmul_transpose, npu_fast_condition_index_put, roll
from .module import (
    BiLSTM,
    ChannelShuffle,
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    FastSyncBatchNorm,
    Focus,
    LabelSmoothingCrossEntropy,
    Mish,
    NpuCachedDropout,
    NpuDropPath,
    NpuFairseqDropout,
    Prefetcher,
    SiLU,
    Swish,
)


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'torch_npu.contrib' has no attribute '{name}' (mstorch {_own} does not provide it yet)", name=name)


__all__ = [
    "BiLSTM", "ChannelShuffle", "FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d", "FastSyncBatchNorm", "Focus",
    "LabelSmoothingCrossEntropy", "Mish", "NpuCachedDropout", "NpuDropPath", "NpuFairseqDropout", "Prefetcher", "SiLU", "Swish",
    "fuse_add_softmax_dropout", "matmul_transpose", "npu_fast_condition_index_put", "roll",
]  # fmt: skip
