"""torch.ao.nn.intrinsic.quantized.modules.bn_relu: batch normalization and ReLU on quantized tensors."""
from __future__ import annotations

from typing import Any

from ....quantized.modules import batchnorm
from ...modules import fused as nni

__all__ = ["BNReLU2d", "BNReLU3d"]


class _WithReLU:
    _rank: int

    def _get_name(self) -> str:
        return f"QuantizedBNReLU{self._rank}d"

    def _operator(self) -> str:
        return f"batch_norm{self._rank}d_relu"


class BNReLU2d(_WithReLU, batchnorm.BatchNorm2d):
    """Fused BatchNorm2d and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.BNReLU2d


class BNReLU3d(_WithReLU, batchnorm.BatchNorm3d):
    """Fused BatchNorm3d and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.BNReLU3d
