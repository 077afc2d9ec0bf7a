"""torch.ao.quantization.stubs: where values are quantized in a network."""
from __future__ import annotations

from . import DeQuantStub, QuantStub

__all__ = ["DeQuantStub", "QuantStub"]
