"""torch.ao.nn.intrinsic.quantized.modules.conv_relu: convolutions and ReLU on quantized tensors."""
from __future__ import annotations

from typing import Any

from ....quantized.modules import conv
from ...modules import fused as nni

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


class _WithReLU:
    _rank: int

    def _get_name(self) -> str:
        return f"QuantizedConvReLU{self._rank}d"

    def _operator(self) -> str:
        return f"conv{self._rank}d_relu"


class ConvReLU1d(_WithReLU, conv.Conv1d):
    """Fused Conv1d and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.ConvReLU1d


class ConvReLU2d(_WithReLU, conv.Conv2d):
    """Fused Conv2d and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.ConvReLU2d


class ConvReLU3d(_WithReLU, conv.Conv3d):
    """Fused Conv3d and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.ConvReLU3d
