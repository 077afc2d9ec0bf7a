"""Progress line on the terminal for work that takes more than a second; nothing if stderr is not a terminal."""
from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

FIRST, EVERY = 1.0, 0.5
"""Seconds until the line appears, and between its updates."""


def on_terminal() -> bool:
    """Return whether stderr is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no stderr, or it is closed
        return False


class Progress:
    """Progress line: the worker counts ``done`` of ``total``, and a thread displays it until ``end``."""

    def __init__(self, what: str, total: int = 0, unit: str = "") -> None:
        self.what, self.total, self.unit, self.done = what, total, unit, 0
        self._over = threading.Event()
        self._teller: threading.Thread | None = None
        if on_terminal():
            self._teller = threading.Thread(target=_tell, args=(weakref.ref(self), self._over), daemon=True)
            self._teller.start()

    def text(self) -> str:
        """Return the text of the line."""
        count = f": {self.done} {self.unit}" if self.unit and self.done else ""
        return f"mstorch: {self.what}{f': {100 * self.done // self.total} %' if self.total else count} …"

    def end(self) -> None:
        """Remove the line before anything else is printed."""
        self._over.set()
        if self._teller is not None:
            self._teller.join(1.0)


def _tell(progress: weakref.ref[Progress], over: threading.Event) -> None:
    """Display the line until it is ended, or until its Progress has been garbage-collected."""
    wait, shown = FIRST, False
    while not over.wait(wait):
        going = progress()
        if going is None:
            break
        _write(f"\r{going.text()}\x1b[K")
        del going
        wait, shown = EVERY, True
    if shown:
        _write("\r\x1b[K")


def _write(text: str) -> None:
    stream: Any = sys.stderr
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):  # closed in the meantime
        return
