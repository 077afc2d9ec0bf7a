"""torch.utils._mode_utils: modes off for a block, and whether modes are one."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ._python_dispatch import _disable_current_modes


def no_dispatch() -> AbstractContextManager[Any]:
    """No ``TorchDispatchMode`` is on in the block."""
    return _disable_current_modes()


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether all are the same object."""
    return all(mode is modes[0] for mode in modes)
