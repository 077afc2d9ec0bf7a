"""torch.ao.nn.intrinsic.qat.modules.linear_relu: a linear layer and ReLU with fake-quantized weight."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ...... import nn
from ......_tensor import Tensor
from ......nn import functional as F
from ......nn.modules.module import Module
from ....qat.modules.linear import Linear, take_values
from ...modules import fused as nni

if TYPE_CHECKING:
    from .....quantization.qconfig import QConfig

__all__ = ["LinearReLU"]


class LinearReLU(Linear, nni._FusedModule):
    """Fused Linear and ReLU with fake-quantized weight."""

    _FLOAT_MODULE = nni.LinearReLU

    def __init__(self, in_features: int, out_features: int, bias: bool = True, qconfig: QConfig | None = None) -> None:
        super().__init__(in_features, out_features, bias, qconfig)

    def forward(self, input: Tensor) -> Tensor:
        """Run the linear layer with fake-quantized weight, then ReLU."""
        return F.relu(super().forward(input))

    def to_float(self) -> Module:
        """Return the float layers with these parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        return nni.LinearReLU(take_values(made, self, "weight", "bias"), nn.ReLU())
