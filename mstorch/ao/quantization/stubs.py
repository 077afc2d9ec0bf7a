"""torch.ao.quantization.stubs: markers where values are quantized and dequantized in a network."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...nn.modules.module import Module
from .qconfig import QConfig

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Marks where values are quantized; until conversion, an observed identity."""

    def __init__(self, qconfig: QConfig | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """Return the input unchanged."""
        return x


class DeQuantStub(Module):
    """Marks where values are dequantized; until conversion, the identity."""

    def __init__(self, qconfig: Any | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """Return the input unchanged."""
        return x


class QuantWrapper(Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``."""

    quant: Any
    dequant: Any
    module: Any

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        """Quantize the input, run the module, and dequantize."""
        return self.dequant(self.module(self.quant(X)))
