"""torch.backends.miopen: AMD's library; its option is stored without effect."""
from __future__ import annotations

import contextlib

from .._src.devices.flags import switched

immediate: bool = False


def flags(immediate: bool = False) -> contextlib.AbstractContextManager[None]:
    """Context manager that sets the option."""
    return switched(__name__, immediate=immediate)
