"""Pauses garbage collection while mstorch is imported: modules stay in memory, and scanning them took a third of the import's time."""
from __future__ import annotations

import gc

from . import runtime  # noqa: F401 - refuses versions that do not fit, before anything is changed

_collecting = gc.isenabled()
gc.disable()


def finished() -> None:
    """Resume garbage collection."""
    if _collecting:
        gc.enable()
