"""Detection of killed workers: the main process raises at once, even while it reads the rest of a message."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from typing import Any

_watched: dict[int, list[int]] = {}  # the workers' pids, by the object that watches them
_handlers: list[Any] = []  # the previous handler of SIGCHLD


def _ending(pid: int) -> str:
    """Return the error text for a worker that was killed or failed; "" otherwise."""
    try:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ""
    if found is None or (found.si_code == os.CLD_EXITED and found.si_status == 0):
        return ""
    if found.si_code == os.CLD_KILLED and found.si_status == signal.SIGTERM:
        return ""  # probably killed by its parent; otherwise the waiting process notices
    if found.si_code == os.CLD_EXITED:
        return (
            f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {found.si_status}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )
    return f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(found.si_status)}. "


def _child_ended(number: int, frame: Any) -> None:
    before = _handlers[0]
    if callable(before):
        before(number, frame)
    raise_if_ended()


def watch(loader: int, pids: Sequence[int]) -> None:
    """Make the main thread raise RuntimeError when one of a loader's workers dies, until ``unwatch``; ``loader`` is its id."""
    _watched[loader] = list(pids)
    handle()


def handle() -> None:
    """Install a SIGCHLD handler, if called on the main thread."""
    if not _handlers and hasattr(signal, "SIGCHLD") and threading.current_thread() is threading.main_thread():
        _handlers.append(signal.signal(signal.SIGCHLD, _child_ended))


def unwatch(loader: int) -> None:
    """Stop watching the loader's workers."""
    _watched.pop(loader, None)


def raise_if_ended() -> None:
    """Raise RuntimeError if a watched worker died."""
    for pids in _watched.values():
        for pid in pids:
            text = _ending(pid)
            if text:
                pids.clear()
                raise RuntimeError(text)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watched.clear)
