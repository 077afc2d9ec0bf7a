"""torch.quantization.fuse_modules: the old name of torch.ao.quantization.fuse_modules."""
from __future__ import annotations

from typing import Any

from ..ao.quantization import fuse_modules as _new
from ..ao.quantization.fuse_modules import fuse_known_modules, fuse_modules, get_fuser_method

__all__ = ["fuse_known_modules", "fuse_modules", "get_fuser_method"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
