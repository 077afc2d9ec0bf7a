"""torch_npu.contrib.module.activations: activations that torch.nn has too."""
from __future__ import annotations

from typing import Any

from mstorch import nn

from ..boxes import deprecated

F = nn.functional


class _Deprecated(nn.Module):
    """An activation that torch.nn also has; deprecated."""

    activation: Any

    def __init__(self) -> None:
        super().__init__()
        deprecated(f"module.{type(self).__name__}", f"torch.nn.{type(self).__name__}")

    def forward(self, x: Any) -> Any:
        """Apply the activation elementwise."""
        return self.activation(x)


class Mish(_Deprecated):
    """Applies x · tanh(softplus(x)); deprecated in favor of ``torch.nn.Mish``."""

    activation = staticmethod(F.mish)


class SiLU(_Deprecated):
    """Applies x · sigmoid(x); deprecated in favor of ``torch.nn.SiLU``."""

    activation = staticmethod(F.silu)


Swish = SiLU


__all__ = ["Mish", "SiLU", "Swish"]
