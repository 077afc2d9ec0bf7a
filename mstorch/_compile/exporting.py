"""Whether the code runs to be exported by ``torch.export``, in this thread."""
from __future__ import annotations

import threading

from .._leaving import values_set_to


class _State(threading.local):
    running = False


state = _State()


def exporting() -> values_set_to:
    """Return a context manager within which the code runs to be exported."""
    return values_set_to(state, running=True)
