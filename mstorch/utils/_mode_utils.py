"""torch.utils._mode_utils: disable dispatch modes within a block."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._python_dispatch import _disable_current_modes


def no_dispatch() -> AbstractContextManager[Any]:
    """Context manager in which every ``TorchDispatchMode`` is disabled."""
    return _disable_current_modes()
