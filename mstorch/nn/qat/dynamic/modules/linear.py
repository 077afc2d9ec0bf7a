"""torch.nn.qat.dynamic.modules.linear: the deprecated name of torch.ao.nn.qat.dynamic.modules.linear."""
from __future__ import annotations

from typing import Any

from .....ao.nn.qat.dynamic.modules import linear as _new
from .....ao.nn.qat.dynamic.modules.linear import Linear

__all__ = ["Linear"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
