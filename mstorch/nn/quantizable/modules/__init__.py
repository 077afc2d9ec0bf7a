"""torch.nn.quantizable.modules: the deprecated name of torch.ao.nn.quantizable.modules."""
from __future__ import annotations

from typing import Any

from ....ao.nn.quantizable import modules as _new

__all__ = []


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
