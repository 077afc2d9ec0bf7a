"""torch.utils.hooks: removable handles of hooks, and hooks that are not serialized."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._src.core.hooks import RemovableHandle, warn_if_has_hooks
from .._src.hook import missing as _missing

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Callable[..., Any]:
    """Mark a hook so that saving a tensor that has it does not warn."""
    f.__torch_unserializable__ = True
    return f

__getattr__ = _missing(__name__)
