"""torch_npu.contrib.module: layers that models written for Ascend use in place of torch's."""
from __future__ import annotations

from .activations import Mish, SiLU, Swish
from .batchnorm_with_int32_count import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d, FastSyncBatchNorm
from .bidirectional_lstm import BiLSTM
from .channel_shuffle import ChannelShuffle
from .crossentropy import LabelSmoothingCrossEntropy
from .deform_conv import DCNv2, ModulatedDeformConv
from .drop_path import NpuDropPath
from .ensemble_dropout import NpuCachedDropout, NpuFairseqDropout, NpuPreGenDropout
from .focus import Focus
from .npu_modules import DropoutWithByteMask
from .prefetcher import Prefetcher
from .roi_align import ROIAlign

__all__ = [
    "BiLSTM", "ChannelShuffle", "DCNv2", "DropoutWithByteMask", "FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d",
    "FastSyncBatchNorm", "Focus", "LabelSmoothingCrossEntropy", "Mish", "ModulatedDeformConv", "NpuCachedDropout", "NpuDropPath",
    "NpuFairseqDropout", "NpuPreGenDropout", "Prefetcher", "ROIAlign", "SiLU", "Swish",
]  # fmt: skip
