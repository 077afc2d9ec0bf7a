"""torch.utils._mode_utils: a context manager that disables dispatch modes, and a comparison of modes."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._src.core.overriding import undispatched


def no_dispatch() -> AbstractContextManager[Any]:
    """Context manager in which every ``TorchDispatchMode``, and ``__torch_dispatch__`` of every tensor, is disabled."""
    return undispatched()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether all modes are the same object."""
    return all(mode is modes[0] for mode in modes)
