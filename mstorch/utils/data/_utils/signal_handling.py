"""torch.utils.data._utils.signal_handling: detection of killed workers."""
from __future__ import annotations

import signal
import sys

from .._signals import handle as _set_SIGCHLD_handler
from .._signals import raise_if_ended as _error_if_any_worker_fails
from .._signals import unwatch as _remove_worker_pids
from .._signals import watch as _set_worker_pids

__all__ = ["_error_if_any_worker_fails", "_remove_worker_pids", "_set_SIGCHLD_handler", "_set_worker_pids", "_set_worker_signal_handlers"]


def _set_worker_signal_handlers() -> None:
    """Reset SIGTERM to its default action in a worker, whatever handler it inherited."""
    if sys.platform != "win32":
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
