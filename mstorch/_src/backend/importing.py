"""Python's cyclic garbage collector: paused while mstorch is imported, and run less often afterwards.

Modules stay in memory, and scanning them took a tenth of the import's time. Later, a tensor with its autograd node consists of about six
Python objects (one in torch), and graphs contain no cycles, so that a collection frees nothing. With Python's default, a collection after
every 700 new objects, a quarter of the time of a neural differential equation (torchdiffeq's dopri8) went into collections."""
from __future__ import annotations

import gc
import importlib

from ..frames import with_room

DEFAULTS = (700, 2000)  # Python's default thresholds, up to 3.12 and from 3.13 on
THRESHOLD = 7000
"""Number of new objects after which garbage collection runs, unless the program has set its own threshold."""


def _import_runtime() -> None:
    """Import MindSpore, unless the versions do not fit together."""
    importlib.import_module("mstorch._src.backend.runtime")


_import_runtime.__code__ = with_room(_import_runtime.__code__)
_collecting = gc.isenabled()
gc.disable()
try:
    _import_runtime()
except BaseException:
    if _collecting:
        gc.enable()
    raise


def finished() -> None:
    """Resume garbage collection, and raise Python's default threshold."""
    if not gc.get_freeze_count():  # the program itself has frozen nothing
        gc.freeze()
        gc.unfreeze()  # objects made by the import are in the oldest generation now, and not scanned as new ones
    if _collecting:
        gc.enable()
    young, *older = gc.get_threshold()
    if young in DEFAULTS:
        gc.set_threshold(THRESHOLD, *older)
