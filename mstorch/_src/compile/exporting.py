"""Thread-local flag: the code is running for ``torch.export``."""
from __future__ import annotations

import threading

from ..leaving import values_set_to


class _State(threading.local):
    running = False


state = _State()


def exporting() -> values_set_to:
    """Context manager in which code runs for ``torch.export``."""
    return values_set_to(state, running=True)
