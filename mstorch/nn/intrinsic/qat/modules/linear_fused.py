"""torch.nn.intrinsic.qat.modules.linear_fused: the deprecated name of torch.ao.nn.intrinsic.qat.modules.linear_fused."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.qat.modules import linear_fused as _new
from .....ao.nn.intrinsic.qat.modules.linear_fused import LinearBn1d

__all__ = ["LinearBn1d"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
