"""torch.quantization.fuser_method_mappings: the old name of torch.ao.quantization.fuser_method_mappings."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import fuser_method_mappings as _new
from ..ao.quantization.fuser_method_mappings import fuse_conv_bn, fuse_conv_bn_relu, fuse_linear_bn, get_fuser_method

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_linear_bn", "get_fuser_method"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
