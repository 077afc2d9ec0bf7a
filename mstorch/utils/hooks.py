"""torch.utils.hooks: handles of hooks."""
from .._core.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
