"""functorch.einops: ``rearrange``."""
from __future__ import annotations

from ...func import rearrange

__all__ = ["rearrange"]
