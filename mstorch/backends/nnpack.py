"""torch.backends.nnpack: a library that MindSpore does not use."""
from __future__ import annotations

import contextlib

from .._devices.flags import switched

__all__ = ["flags", "is_available", "set_flags"]
_enabled = True


def is_available() -> bool:
    """Return False: MindSpore does not use NNPACK."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the switch; returns what it was."""
    before = globals()["_enabled"]
    globals()["_enabled"] = _enabled
    return (before,)


def flags(enabled: bool = False) -> contextlib.AbstractContextManager[None]:
    """Set the switch inside of a ``with`` block."""
    return switched(__name__, _enabled=enabled)
