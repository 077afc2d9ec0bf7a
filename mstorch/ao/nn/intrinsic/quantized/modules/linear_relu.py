"""torch.ao.nn.intrinsic.quantized.modules.linear_relu: a linear layer and ReLU on quantized tensors."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ......_src.hook import missing as _missing
from ......_tensor import Tensor
from ....quantized.modules.linear import Linear
from ...modules import fused as nni

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """Fused Linear and ReLU on quantized tensors."""

    _FLOAT_MODULE: Any = nni.LinearReLU

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(in_features, out_features, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Run the layers on a quantized tensor."""
        return torch.ops.quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"

    @classmethod
    def from_reference(cls, ref_linear_relu: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """Construct the module from a reference module."""
        return super().from_reference(ref_linear_relu[0], output_scale, output_zero_point)

__getattr__ = _missing(__name__)
