"""torch.ao.nn.quantized.modules.dropout: dropout at inference, the identity."""
from __future__ import annotations

from typing import Any

from ..... import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """The identity: quantized networks are not trained."""

    def forward(self, input: Any) -> Any:
        """Return the input unchanged."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Construct the module from a float module."""
        return cls(mod.p, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """Construct the module from a float module."""
        return cls(mod.p, mod.inplace)
