"""torch.utils._mode_utils: modes off for a block."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._python_dispatch import _disable_current_modes


def no_dispatch() -> AbstractContextManager[Any]:
    """No ``TorchDispatchMode`` is on in the block."""
    return _disable_current_modes()
