"""torch.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu: a dynamically quantized linear layer and ReLU."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ......._tensor import Tensor
from .....quantized.dynamic.modules.linear import Linear
from ....modules import fused as nni

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """Fused Linear and ReLU with quantized weight; float inputs are quantized dynamically."""

    _FLOAT_MODULE: Any = nni.LinearReLU

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(in_features, out_features, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Run the layers on a float tensor."""
        packed, kind = self._packed_params._packed_params, self._packed_params.dtype
        if kind == torch.qint8:
            found = torch.ops.quantized.linear_relu_dynamic(x, packed, reduce_range=True)
        elif kind == torch.float16:
            found = torch.ops.quantized.linear_relu_dynamic_fp16(x, packed)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear relu!")
        return found.to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"

    @classmethod
    def from_reference(cls, ref_qlinear_relu: Any) -> Any:
        """Construct the module from a reference module."""
        return super().from_reference(ref_qlinear_relu[0])
