"""torch.ao.nn.quantized: layers on quantized tensors."""
from ...._src.hook import missing as _missing
from .modules import (
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

__getattr__ = _missing(__name__, ("dynamic",))
