"""torch.nn.quantized.modules.dropout: the deprecated name of torch.ao.nn.quantized.modules.dropout."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import dropout as _new
from ....ao.nn.quantized.modules.dropout import Dropout

__all__ = ["Dropout"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
