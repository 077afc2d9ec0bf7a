"""torch.nn.qat.dynamic: the deprecated name of torch.ao.nn.qat.dynamic."""
from __future__ import annotations

from typing import Any

from ....ao.nn.qat import dynamic as _new
from ....ao.nn.qat.dynamic import Linear

__all__ = ["Linear"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
