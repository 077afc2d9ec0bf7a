"""torch.nn.qat.modules: the deprecated name of torch.ao.nn.qat.modules."""
from __future__ import annotations

from typing import Any

from ....ao.nn.qat import modules as _new
from ....ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


def __getattr__(name: str) -> Any:
    return getattr(_new, name)
