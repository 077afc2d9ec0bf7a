"""While mstorch is imported nobody looks for garbage: modules stay, and to look through all of them took a third of the time."""
from __future__ import annotations

import gc

from . import runtime  # noqa: F401 - refuses versions that do not fit, before anything is changed

_collecting = gc.isenabled()
gc.disable()


def finished() -> None:
    """The import is done."""
    if _collecting:
        gc.enable()
