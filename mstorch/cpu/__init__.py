"""torch.cpu: the host with the interface of an accelerator, for device-agnostic scripts."""
from __future__ import annotations

import threading
from functools import partial
from typing import Any

from .._src.core.device import device
from .._src.hook import missing as _missing
from .._src.leaving import Block
from . import amp as amp


def is_available() -> bool:
    """Return True: there is a CPU."""
    return True


def is_initialized() -> bool:
    """Return True: the CPU is in use."""
    return True


def synchronize(device: int | str | device | None = None) -> None:
    """Do nothing: operations on the CPU are synchronous."""


def current_device() -> str:
    """Return the current device: ``"cpu"``."""
    return "cpu"


def set_device(device: int | str | device) -> None:
    """Do nothing: there is only one CPU device."""


def device_count() -> int:
    """Return the number of devices: 1."""
    return 1


class Stream:
    """Stream of operations executed in order; the CPU has one."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: operations on the CPU are synchronous."""

    def record_event(self) -> None:
        """Do nothing: operations on the CPU are synchronous."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: operations on the CPU are synchronous."""


class Event:
    """Event of a stream, which on a CPU has always completed."""

    def query(self) -> bool:
        """Return True: operations on the CPU are synchronous."""
        return True

    def record(self, stream: Any = None) -> None:
        """Do nothing: operations on the CPU are synchronous."""

    def synchronize(self) -> None:
        """Do nothing: operations on the CPU are synchronous."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: operations on the CPU are synchronous."""


_default_cpu_stream = Stream()
_in_use = threading.local()


def current_stream(device: int | str | device | None = None) -> Stream:
    """Return the current stream of this thread."""
    return getattr(_in_use, "stream", _default_cpu_stream)


class StreamContext(Block):
    """Context manager that selects a stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        before = current_stream()
        self.at_end(partial(setattr, _in_use, "stream", before))
        _in_use.stream = before if self.stream is None else self.stream


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager that selects a stream."""
    return StreamContext(stream)


__all__ = [
    "is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream", "set_device", "device_count",
    "Stream", "StreamContext", "Event",
]  # fmt: skip

__getattr__ = _missing(__name__)
