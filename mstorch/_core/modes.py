"""The modes of a thread: recording, inference mode, MindSpore's own way of computing, hooks for saved tensors."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._leaving import Block, values_again, values_set_to


class Modes(threading.local):
    """The modes of the running thread. Each thread begins with torch's defaults.

    ``grad``: operations are recorded on the tape. ``native``: the block in which tensors hold MindSpore's values and
    MindSpore's own tape records them, as in a capture and in a Module that MindSpore trains; None outside of one.
    ``shapes``: operations run for the shapes and dtypes of their results, on tensors without memory.
    ``saved_hooks``: pairs (pack, unpack) for what backward keeps, the innermost last.
    ``forward``: whether tangents are computed; ``hidden``: the levels whose tangents nobody sees, see ``_core/tangents.py``.
    ``before_write`` is called with a tensor that is about to be written to.
    ``levels``: how many levels of forward mode the thread has entered.
    """

    grad: bool = True
    inference: bool = False
    native: Any = None
    multithreading: bool = True
    shapes: bool = False
    forward: bool = True
    hidden: frozenset[int] = frozenset()
    levels: int = 0
    before_write: Callable[[Any], None] | None = None

    def __init__(self) -> None:
        self.saved_hooks: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
        self.saved_hooks_refused: str | None = None


modes = Modes()


def capturing() -> bool:
    """Return whether a graph is being captured in this thread."""
    return modes.native is not None and modes.native.captured


class grad_set_to(Block):
    """Recording on or off for a block."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.at_end(values_again(modes, "grad"))
        modes.grad = self.enabled


def shapes_only() -> values_set_to:
    """Let tensors without memory be read within the block, as zeros: results count for their shapes only."""
    return values_set_to(modes, shapes=True)
