"""Deprecated names of torch.amp."""
from __future__ import annotations

from ..._src.core.dtype import bfloat16, dtype
from ..._src.core.warned import warn
from ...amp import autocast_mode


class autocast(autocast_mode.autocast):
    """Deprecated form of ``torch.amp.autocast("cpu", …)``."""

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


__all__ = ["autocast"]
