"""torch.cpu: the host as if it were an accelerator, for scripts that do not ask which device they have."""
from __future__ import annotations

import threading
from functools import partial
from typing import Any

from .._leaving import Block
from . import amp as amp


def is_available() -> bool:
    """Return whether there is a CPU: there is."""
    return True


def is_initialized() -> bool:
    """Return whether the CPU is in use: it is."""
    return True


def synchronize(device: Any = None) -> None:
    """Wait for the CPU, which has finished each operation when it returns."""


def current_device() -> str:
    """Return the device in use: ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the device in use, of which there is one."""


def device_count() -> int:
    """Return the number of devices: 1."""
    return 1


class Stream:
    """Operations in order; the CPU has one such order."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to record."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""


class Event:
    """A moment in a stream; on a CPU it has passed."""

    def query(self) -> bool:
        """Return True: what was given to the CPU is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to record."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


_default_cpu_stream = Stream()
_in_use = threading.local()


def current_stream(device: Any = None) -> Stream:
    """Return the stream in use in this thread."""
    return getattr(_in_use, "stream", _default_cpu_stream)


class StreamContext(Block):
    """Use a stream inside of a ``with`` block."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        before = current_stream()
        self.at_end(partial(setattr, _in_use, "stream", before))
        _in_use.stream = before if self.stream is None else self.stream


def stream(stream: Any) -> StreamContext:
    """Use a stream inside of a ``with`` block."""
    return StreamContext(stream)


__all__ = [
    "is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream", "set_device", "device_count",
    "Stream", "StreamContext", "Event",
]  # fmt: skip
