"""Streams, events and memory statistics of an accelerator; work on the stand-in device is complete when a call returns."""
from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from operator import setitem
from typing import Any

import mindspore

from ..leaving import each
from . import binding, runtime

_native: Any = mindspore.runtime


class StandInStream:
    """Stream of the stand-in device, whose work is always complete."""

    _ids = itertools.count()

    def __init__(self) -> None:
        self.id = next(self._ids)

    def query(self) -> bool:
        """Return True: the work is complete."""
        return True

    def synchronize(self) -> None:
        """Do nothing: the work is complete."""

    def wait_event(self, event: Any) -> None:
        """Do nothing: the event has completed."""


class StandInEvent:
    """Event of the stand-in device; all earlier work is complete."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self.moment = 0.0

    def record(self, stream: Any = None) -> None:
        """Record the time."""
        self.moment = time.perf_counter()

    def query(self) -> bool:
        """Return True: the event has completed."""
        return True

    def synchronize(self) -> None:
        """Do nothing: the event has completed."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing: the event has completed."""

    def elapsed_time(self, end: StandInEvent) -> float:
        """Return the milliseconds up to another event."""
        return (end.moment - self.moment) * 1000


_current: list[Any] = []
QUEUES = 4
"""MindSpore streams behind all streams of torch's: each that computes has memory of its own, which no other can use."""
NUMBERS = 32
"""Streams of a priority, which are handed out in turn, as torch's."""
_queues: list[Any] = []
_making = threading.RLock()
_turns = itertools.count(), itertools.count()
_of_thread = threading.local()


def next_number(priority: int) -> int:
    """Return the number of the next stream: 1 to 32, of high priorities (below 0) 33 to 64; the default stream is 0."""
    high = priority < 0
    return 1 + NUMBERS * high + next(_turns[high]) % NUMBERS


def numbered(number: int) -> Any:
    """Return the device's stream behind a number. MindSpore takes no priority below 0, which is Ascend's highest, so that all have it."""
    if number == 0:
        return default_stream()
    if number > 2 * NUMBERS:
        return _native.Stream(stream_id=number - 2 * NUMBERS)
    with _making:
        while len(_queues) < QUEUES:
            _queues.append(StandInStream() if runtime.FAKE_DEVICE else _native.Stream())
    turn = (number - 1) % NUMBERS % QUEUES
    # from the other end, so that a program's first streams of both priorities do not wait for each other
    return _queues[QUEUES - 1 - turn if number > NUMBERS else turn]


def current_number() -> int:
    """Return the number of this thread's current stream: of the last one that was set, unless MindSpore was given another since."""
    now, number = current_stream().id, getattr(_of_thread, "number", 0)
    if numbered(number).id == now:
        return number
    return 0 if now == default_stream().id else 2 * NUMBERS + now


def new_event(timing: bool, blocking: bool) -> Any:
    """Return a new event of the device."""
    return StandInEvent(timing, blocking) if runtime.FAKE_DEVICE else _native.Event(enable_timing=timing, blocking=blocking)


def _stand_in() -> list[Any]:
    """Return the stand-in device's default and current stream, as a list."""
    if not _current:
        first = StandInStream()
        _current.extend((first, first))
    return _current


def default_stream() -> Any:
    """Return the device's default stream."""
    return _stand_in()[0] if runtime.FAKE_DEVICE else _native.default_stream()


def current_stream() -> Any:
    """Return the device's current stream."""
    return _stand_in()[1] if runtime.FAKE_DEVICE else _native.current_stream()


def set_current(number: int) -> None:
    """Set the current stream by its number."""
    stream = numbered(number)
    _of_thread.number = number
    if runtime.FAKE_DEVICE:
        _stand_in()[1] = stream
    else:
        _native.set_cur_stream(stream)


def current_again() -> Callable[[], Any]:
    """Return a function that restores the current stream."""
    now = current_stream()
    native = partial(setitem, _stand_in(), 1, now) if runtime.FAKE_DEVICE else partial(_native.set_cur_stream, now)
    return each(native, partial(setattr, _of_thread, "number", current_number()))


def keep_for(owner: object, memory: Any, stream: Any) -> None:
    """Keep memory until ``owner`` is freed; what the current stream does afterwards waits for the work that ``stream`` has by then, so that
    no kernel writes to the memory before."""
    weakref.finalize(owner, _wait_for, memory, stream).atexit = False


def _wait_for(memory: Any, stream: Any) -> None:
    event = new_event(False, False)
    event.record(stream)
    current_stream().wait_event(event)


_NAMES = {  # torch's names of MindSpore's statistics
    "allocated_bytes.all.current": "total_allocated_memory", "allocated_bytes.all.peak": "max_allocated_memory",
    "reserved_bytes.all.current": "total_reserved_memory", "reserved_bytes.all.peak": "max_reserved_memory",
    "inactive_split_bytes.all.current": "total_idle_memory",
}  # fmt: skip


def memory_stats() -> dict[str, int]:
    """Return MindSpore's memory pool statistics by torch's names; zeros for the stand-in device, which has no pool."""
    told = {} if runtime.FAKE_DEVICE else _native.memory_stats()
    return {name: int(told.get(own, 0)) for name, own in _NAMES.items()}


def reset_peaks() -> None:
    """Reset the peak memory statistics."""
    if not runtime.FAKE_DEVICE:
        _native.reset_peak_memory_stats()


def memory_summary() -> str:
    """Return MindSpore's summary table of its memory pool."""
    return "the stand-in device has no pool" if runtime.FAKE_DEVICE else str(_native.memory_summary())


def memory_info() -> tuple[int, int]:
    """Return the free and total bytes of the device, which binds the process to it; the host's for the stand-in device.

    MindSpore reports zeros for an Ascend device that has not been used. Raise NotImplementedError if it reports nothing.
    """
    index = binding.use()
    if runtime.FAKE_DEVICE:
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")
    found = mindspore.hal.get_device_properties(index)
    if not getattr(found, "total_memory", 1):
        mindspore.mint.zeros(1)
        mindspore.runtime.synchronize()
        found = mindspore.hal.get_device_properties(index)
    total = int(getattr(found, "total_memory", 0))
    if not total:
        raise NotImplementedError("mstorch: MindSpore does not tell how much memory the device has")
    free = getattr(found, "free_memory", None)
    return (max(total - memory_stats()["reserved_bytes.all.current"], 0) if free is None else int(free)), total
