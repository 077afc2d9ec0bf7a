"""Whether mixed precision can work at all."""
from __future__ import annotations

from ...amp.autocast_mode import _cuda


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU."""
    return not _cuda()


__all__ = ["amp_definitely_not_available"]
