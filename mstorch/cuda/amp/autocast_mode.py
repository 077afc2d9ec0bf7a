"""Deprecated names of torch.amp."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._src.core.dtype import dtype, float16
from ..._src.core.warned import warn
from ...amp import autocast_mode


class autocast(autocast_mode.autocast):
    """Deprecated form of ``torch.amp.autocast("cuda", …)``."""

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: Any = None) -> Callable[..., Any]:
    """Deprecated form of ``torch.amp.custom_fwd(…, device_type="cuda")``."""
    warn(
        "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use `torch.amp.custom_fwd(args..., device_type='cuda')` "
        "instead.",
        FutureWarning,
    )
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """Deprecated form of ``torch.amp.custom_bwd(…, device_type="cuda")``."""
    warn(
        "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use `torch.amp.custom_bwd(args..., device_type='cuda')` "
        "instead.",
        FutureWarning,
    )
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


__all__ = ["autocast", "custom_bwd", "custom_fwd"]
