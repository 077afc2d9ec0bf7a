"""torch.backends.nnpack: not used by MindSpore."""
from __future__ import annotations

import contextlib

from .._src.devices.flags import switched

__all__ = ["flags", "is_available", "set_flags"]
_enabled = True


def is_available() -> bool:
    """Return False: MindSpore does not use NNPACK."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the option; return its previous value."""
    before = globals()["_enabled"]
    globals()["_enabled"] = _enabled
    return (before,)


def flags(enabled: bool = False) -> contextlib.AbstractContextManager[None]:
    """Context manager that sets the option."""
    return switched(__name__, _enabled=enabled)
