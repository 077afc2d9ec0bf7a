"""torch.nn.quantized.modules.linear: the deprecated name of torch.ao.nn.quantized.modules.linear."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import linear as _new
from ....ao.nn.quantized.modules.linear import Linear, LinearPackedParams

__all__ = ["Linear", "LinearPackedParams"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
