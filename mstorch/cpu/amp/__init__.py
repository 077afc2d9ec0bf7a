"""torch.cpu.amp: names that torch.amp has replaced."""
from __future__ import annotations

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["autocast", "GradScaler"]
