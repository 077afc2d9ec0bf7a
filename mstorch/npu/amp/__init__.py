"""torch.npu.amp: autocast and GradScaler for Ascend devices."""
from __future__ import annotations

from typing import Any

from ..._src.core.dtype import dtype, float16
from ...amp import autocast_mode
from ...amp import grad_scaler as scaling


class autocast(autocast_mode.autocast):
    """Context manager equivalent to ``torch.autocast("npu", …)``."""

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(scaling.GradScaler):
    """Gradient scaler equivalent to ``torch.amp.GradScaler("npu", …)``."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:  # fmt: skip
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Decorate ``forward`` as ``torch.amp.custom_fwd(…, device_type="npu")`` does."""
    return autocast_mode.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Decorate ``backward`` as ``torch.amp.custom_bwd(…, device_type="npu")`` does."""
    return autocast_mode.custom_bwd(bwd, device_type="npu")


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
