"""torch.ao.quantization.stubs: where values are quantized in a network, and where they become floating again."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Where values are quantized, once a network is converted; returns its input until then, and is observed."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Any:
        """Return the input."""
        return x


class DeQuantStub(Module):
    """Where values become floating again, once a network is converted; returns its input until then."""

    def __init__(self, qconfig: Any | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Any:
        """Return the input."""
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

    def forward(self, X: Tensor) -> Any:
        """Return what the module makes of the input."""
        return self.dequant(self.module(self.quant(X)))
