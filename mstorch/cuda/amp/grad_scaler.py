"""Deprecated names of torch.amp."""
from ...amp._older import DeviceGradScaler
from ...amp.grad_scaler import OptState as OptState

__all__ = ["GradScaler"]


class GradScaler(DeviceGradScaler):
    """Deprecated form of ``torch.amp.GradScaler("cuda", …)``."""

    _named = "cuda"
