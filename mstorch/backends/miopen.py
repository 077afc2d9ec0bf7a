"""torch.backends.miopen: AMD's library; the switch is kept and read back."""
from __future__ import annotations

import contextlib

from .._devices.flags import switched

immediate: bool = False


def flags(immediate: bool = False) -> contextlib.AbstractContextManager[None]:
    """Set the switch inside of a ``with`` block."""
    return switched(__name__, immediate=immediate)
