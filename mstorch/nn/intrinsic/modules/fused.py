"""torch.nn.intrinsic.modules.fused: the deprecated name of torch.ao.nn.intrinsic.modules.fused."""
from __future__ import annotations

from typing import Any

from ....ao.nn.intrinsic.modules import fused as _new
from ....ao.nn.intrinsic.modules.fused import (
    BNReLU2d,
    BNReLU3d,
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    LinearBn1d,
    LinearReLU,
)  # fmt: skip

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
