"""torch.nn.quantizable: the deprecated name of torch.ao.nn.quantizable."""
from __future__ import annotations

from typing import Any

from ...ao.nn import quantizable as _new

__all__ = []


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
