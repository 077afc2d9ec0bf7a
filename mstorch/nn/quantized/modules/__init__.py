"""torch.nn.quantized.modules: the deprecated name of torch.ao.nn.quantized.modules."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized import modules as _new
from ....ao.nn.quantized.modules import (
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    DeQuantize,
    Dropout,
    FloatFunctional,
    FXFloatFunctional,
    Linear,
    MaxPool2d,
    QFunctional,
    Quantize,
    ReLU6,
)  # fmt: skip

__all__ = [
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "DeQuantize", "Dropout", "FXFloatFunctional", "FloatFunctional", "Linear",
    "MaxPool2d", "QFunctional", "Quantize", "ReLU6",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
