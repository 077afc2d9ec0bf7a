"""torch.quantization.stubs: the old name of torch.ao.quantization.stubs."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import stubs as _new
from ..ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
