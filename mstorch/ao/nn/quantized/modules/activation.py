"""torch.ao.nn.quantized.modules.activation: activations of quantized tensors."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..... import nn

__all__ = ["ReLU6"]


class ReLU6(nn.ReLU):
    """Numbers between 0 and 6, of quantized tensors."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Return the bounded tensor."""
        return torch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the quantized layer of a floating one."""
        return ReLU6(mod.inplace)
