"""torch.ao.nn.quantized.modules.activation: activations on quantized tensors."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ..... import nn
from ....._src.hook import missing as _missing

__all__ = ["ReLU6"]


class ReLU6(nn.ReLU):
    """ReLU6 on quantized tensors."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Return the tensor clamped to [0, 6]."""
        return torch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Construct the module from a float module."""
        return ReLU6(mod.inplace)

__getattr__ = _missing(__name__)
