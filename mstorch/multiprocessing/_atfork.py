"""torch.multiprocessing._atfork: fork handlers."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["register_after_fork"]


def register_after_fork(func: Callable[[], Any]) -> None:
    """Register a function that each child process calls after a fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=func)
