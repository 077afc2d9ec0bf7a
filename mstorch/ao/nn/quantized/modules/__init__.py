"""torch.ao.nn.quantized.modules: layers on quantized tensors, Quantize and DeQuantize."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mstorch as torch

from ....._src.hook import missing as _missing
from .....nn import MaxPool2d, Module
from .activation import ReLU6
from .batchnorm import BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d
from .dropout import Dropout
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .linear import Linear

if TYPE_CHECKING:
    from ....quantization.stubs import DeQuantStub


class Quantize(Module):
    """Quantizes a float tensor."""

    scale: Any
    zero_point: Any

    def __init__(self, scale: float, zero_point: int, dtype: torch.dtype, factory_kwargs: Any = None) -> None:
        made = torch.nn.factory_kwargs(factory_kwargs)
        super().__init__()
        self.register_buffer("scale", torch.tensor([scale], **made))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long, device=made.get("device")))
        self.dtype = dtype

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return ``X`` quantized with the module's scale and zero point."""
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Module:
        """Construct the module from an observed stub, with the observer's scale and zero point."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError(f"Module {type(mod).__name__} must have activation_post_process attribute")
        scale, point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), point.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        """Return the scale, zero point and dtype, for the module's repr."""
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Dequantizes a quantized tensor."""

    def forward(self, Xq: torch.Tensor) -> torch.Tensor:
        """Return ``Xq.dequantize()``."""
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: DeQuantStub, use_precomputed_fake_quant: bool = False) -> Module:
        """Return a new DeQuantize."""
        return DeQuantize()


__all__ = [
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "DeQuantize", "Dropout", "FXFloatFunctional", "FloatFunctional", "Linear",
    "MaxPool2d", "QFunctional", "Quantize", "ReLU6",
]  # fmt: skip

__getattr__ = _missing(__name__)
