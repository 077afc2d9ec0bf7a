"""Thread-local modes: grad mode, inference mode, MindSpore's execution modes, saved-tensor hooks."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..leaving import Block, values_again, values_set_to


class Modes(threading.local):
    """Modes of the running thread, which starts with torch's defaults.

    ``grad``: autograd tracks operations. ``native``: the block in which tensors hold MindSpore tensors that MindSpore's own autograd
    tracks, as in a capture and in a Module that MindSpore trains; else None. ``shapes``: operations run on meta tensors for the shapes and
    dtypes of their results. ``saved_hooks``: stack of pairs (pack, unpack), the innermost last. ``forward``: whether tangents are computed;
    ``hidden``: the levels whose tangents are invisible, see ``core/tangents.py``. ``before_write`` is called with a tensor before it is
    modified. ``levels``: number of forward-mode levels that the thread has entered. ``level``: number of the innermost ``torch.func``
    transform that forbids writes to tensors made before it, else 0; ``admitted``: the storages of its arguments, which may be written.
    ``replay``: a view whose base was written has the node of the view again, not that of a strided window.
    ``marks``: new tensors note the mode, or the level, in which they are made.
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
    level: int = 0
    admitted: frozenset[Any] = frozenset()
    marks: bool = False
    replay: bool = False

    def __init__(self) -> None:
        self.saved_hooks: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
        self.saved_hooks_refused: str | None = None


modes = Modes()

# One entry per active mode of any thread, and per mirror (``mirrors.py``): while it is empty, public functions look at the classes of their
# arguments only.
MODES: list[None] = []


def followed_capture() -> bool:
    """Return whether this thread captures a graph whose gradients mstorch's autograd computes, and not MindSpore's."""
    return modes.native is not None and modes.native.follows


def capturing() -> bool:
    """Return whether this thread is capturing a graph."""
    return modes.native is not None and modes.native.captured


class grad_set_to(Block):
    """Context manager that sets grad mode."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.at_end(values_again(modes, "grad"))
        modes.grad = self.enabled


def shapes_only() -> values_set_to:
    """Context manager in which meta tensors can be read, as zeros: only the shapes of results are meaningful."""
    return values_set_to(modes, shapes=True)
