"""torch.nn.intrinsic.qat.modules.conv_fused: the deprecated name of torch.ao.nn.intrinsic.qat.modules.conv_fused."""
from __future__ import annotations

from typing import Any

from .....ao.nn.intrinsic.qat.modules import conv_fused as _new
from .....ao.nn.intrinsic.qat.modules.conv_fused import (
    ConvBn1d,
    ConvBn2d,
    ConvBn3d,
    ConvBnReLU1d,
    ConvBnReLU2d,
    ConvBnReLU3d,
    ConvReLU1d,
    ConvReLU2d,
    ConvReLU3d,
    freeze_bn_stats,
    update_bn_stats,
)  # fmt: skip

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
