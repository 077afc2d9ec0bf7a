"""torch_npu.contrib.module.batchnorm_with_int32_count: batch normalization that counts batches in int32."""
from __future__ import annotations

from typing import Any

from mstorch import nn


class _CountInInt32(nn.Module):
    """Batch normalization that counts batches in int32."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        count = self._buffers.get("num_batches_tracked")
        if count is not None:
            self._buffers["num_batches_tracked"] = count.int()


class FastBatchNorm1d(_CountInInt32, nn.BatchNorm1d):
    """``BatchNorm1d`` that counts batches in int32."""


class FastBatchNorm2d(_CountInInt32, nn.BatchNorm2d):
    """``BatchNorm2d`` that counts batches in int32."""


class FastBatchNorm3d(_CountInInt32, nn.BatchNorm3d):
    """``BatchNorm3d`` that counts batches in int32."""


class FastSyncBatchNorm(_CountInInt32, nn.SyncBatchNorm):
    """``SyncBatchNorm`` that counts batches in int32."""


__all__ = ["FastBatchNorm1d", "FastBatchNorm2d", "FastBatchNorm3d", "FastSyncBatchNorm"]
