"""Views of a device storage's memory that tensors keep. The storage takes them back when it gets other memory, so that the old one ends."""
from __future__ import annotations

import weakref

from ..backend.raw import Raw

_MANY = 64  # after each so many, those are forgotten whose tensors have ended


class Window:
    """What a tensor keeps: a view, or None after the storage has got other memory."""

    __slots__ = ("raw", "__weakref__")

    def __init__(self, raw: Raw) -> None:
        self.raw: Raw | None = raw


class Windows(list[weakref.ref[Window]]):
    """The windows that tensors keep of one memory."""

    __slots__ = ()

    def keep(self, raw: Raw) -> Window:
        """Return a window for a tensor to keep."""
        if not len(self) % _MANY:
            self[:] = [reference for reference in self if reference() is not None]
        window = Window(raw)
        self.append(weakref.ref(window))
        return window

    def end(self) -> None:
        """Let go of the memory."""
        for reference in self:
            window = reference()
            if window is not None:
                window.raw = None
        self.clear()
