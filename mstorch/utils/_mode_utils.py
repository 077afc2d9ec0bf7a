"""torch.utils._mode_utils: a context manager that disables dispatch modes, and a comparison of modes."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ._python_dispatch import _disable_current_modes


def no_dispatch() -> AbstractContextManager[Any]:
    """Context manager in which every ``TorchDispatchMode`` is disabled."""
    return _disable_current_modes()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether all modes are the same object."""
    return all(mode is modes[0] for mode in modes)
