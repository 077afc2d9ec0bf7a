"""torch.utils.hooks: handles of hooks, and hooks that stay behind when a tensor is saved."""
from __future__ import annotations

from typing import Any

from .._core.hooks import RemovableHandle, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook: tensors that have it are saved without a warning that it stays behind."""
    f.__torch_unserializable__ = True
    return f
