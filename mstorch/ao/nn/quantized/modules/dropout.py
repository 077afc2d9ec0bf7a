"""torch.ao.nn.quantized.modules.dropout: dropout after training, which leaves a tensor as it is."""
from __future__ import annotations

from typing import Any

from ..... import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """The input as it is: quantized networks are not trained."""

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the layer of a floating one."""
        return cls(mod.p, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """Return the layer of a floating one."""
        return cls(mod.p, mod.inplace)
