"""Pauses garbage collection while mstorch is imported: modules persist, and a third of the time was spent on scanning them."""
from __future__ import annotations

import gc

from . import runtime  # noqa: F401 - refuses versions that do not fit, before anything is changed

_collecting = gc.isenabled()
gc.disable()


def finished() -> None:
    """Resume garbage collection."""
    if _collecting:
        gc.enable()
