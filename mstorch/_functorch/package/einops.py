"""functorch.einops: ``rearrange``."""
from ...func import rearrange

__all__ = ["rearrange"]
