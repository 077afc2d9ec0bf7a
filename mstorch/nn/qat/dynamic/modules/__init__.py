"""torch.nn.qat.dynamic.modules: the deprecated name of torch.ao.nn.qat.dynamic.modules."""
from __future__ import annotations

from typing import Any

from .....ao.nn.qat.dynamic import modules as _new
from .....ao.nn.qat.dynamic.modules import Linear

__all__ = ["Linear"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
