"""torch.nn.quantized.modules.utils: the deprecated name of torch.ao.nn.quantized.modules.utils."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantized.modules import utils as _new
from ....ao.nn.quantized.modules.utils import WeightedQuantizedModule

__all__ = ["WeightedQuantizedModule"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
