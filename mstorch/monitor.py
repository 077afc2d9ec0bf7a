"""torch.monitor: statistics over time windows, and events for handlers."""
from __future__ import annotations

import datetime
import enum
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

STAT_EVENT = "torch.monitor.Stat"


class Aggregation(enum.Enum):
    """Aggregations that a ``Stat`` computes over a window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__


VALUE, MEAN, COUNT, SUM, MAX, MIN = Aggregation


# torch does not compute VALUE: events of such a Stat are empty.
_FORMULAS: dict[Aggregation, Callable[[list[float]], float]] = {
    MEAN: lambda numbers: sum(numbers) / len(numbers),
    COUNT: lambda numbers: float(len(numbers)),
    SUM: lambda numbers: float(sum(numbers)),
    MAX: max,
    MIN: min,
}


def _wrong(what: str, *given: Any) -> TypeError:
    return TypeError(f"{what}: incompatible arguments. Invoked with: {', '.join(map(repr, given))}")


class Event:
    """Event with a name, a naive timestamp, and numbers, booleans or strings by name."""

    def __init__(self, name: str, timestamp: datetime.datetime, data: dict[str, Any]) -> None:
        fits = isinstance(name, str) and isinstance(timestamp, datetime.datetime) and isinstance(data, dict)
        if not fits or not all(isinstance(key, str) and isinstance(value, (int, float, str)) for key, value in data.items()):
            raise _wrong("Event()", name, timestamp, data)
        self.name = name
        self.timestamp = timestamp.replace(tzinfo=None)
        self.data = data

    @property
    def data(self) -> dict[str, Any]:
        """A copy of the event's values; booleans have become numbers, as in torch."""
        return dict(self._data)

    @data.setter
    def data(self, data: dict[str, Any]) -> None:
        self._data = {key: float(value) if isinstance(value, bool) else value for key, value in data.items()}


class EventHandlerHandle:
    """Identifies a registered handler."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self._handler = handler


_handlers: list[EventHandlerHandle] = []
_lock = threading.Lock()


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Register ``callback`` for all later events; return a handle for ``unregister_event_handler``."""
    if not callable(callback):
        raise _wrong("register_event_handler()", callback)
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Unregister a handler. Raise ValueError if it is not registered, where torch crashes."""
    with _lock:
        if handler not in _handlers:
            raise ValueError("the event handler is not registered")
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Pass an event to all handlers, in registration order; their exceptions propagate."""
    if not isinstance(event, Event):
        raise _wrong("log_event()", event)
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


class Stat:
    """Collects numbers and logs an event with their aggregations once per time window.

    Windows of length ``window_size`` are aligned with the clock's zero. The event is logged with the first number of the next window, when
    ``max_samples`` numbers have arrived (later numbers of the window are dropped), or when the object is destroyed.
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: datetime.timedelta, max_samples: int = 2**63 - 1
    ) -> None:
        fits = isinstance(name, str) and isinstance(window_size, datetime.timedelta) and isinstance(max_samples, int)
        if not fits or not all(isinstance(item, Aggregation) for item in aggregations):
            raise _wrong("Stat()", name, aggregations, window_size, max_samples)
        if window_size <= datetime.timedelta(0):
            raise ValueError("window_size must be longer than zero")
        self._numbers: list[float] = []
        self._lock = threading.Lock()
        self._name = name
        self._aggregations = [item for item in Aggregation if item in aggregations and item in _FORMULAS]
        self._seconds = window_size.total_seconds()
        self._most = max_samples
        self._window = self._now()
        self._full = False
        self._last = dict.fromkeys(self._aggregations, 0.0)

    def _now(self) -> int:
        return int(time.monotonic() // self._seconds)

    def _close(self) -> Event | None:
        """Start a new window; return the event of the previous one."""
        numbers, self._numbers = self._numbers, []
        self._last = {item: _FORMULAS[item](numbers) if numbers else 0.0 for item in self._aggregations}
        if not numbers:
            return None
        data = {f"{self._name}.{item.name.lower()}": value for item, value in self._last.items()}
        return Event(STAT_EVENT, datetime.datetime.now(), data)

    def add(self, v: float) -> None:
        """Add a number to the current window."""
        try:
            number = float(v) if not isinstance(v, str) else None
        except (TypeError, ValueError):
            number = None
        if number is None:
            raise _wrong("add()", v)
        events = []
        with self._lock:
            window = self._now()
            if window != self._window:
                events.append(self._close())
                self._window, self._full = window, False
            if not self._full:
                self._numbers.append(number)
                if len(self._numbers) >= self._most:
                    events.append(self._close())
                    self._full = True
        for event in events:
            if event is not None:
                log_event(event)

    def get(self) -> dict[Aggregation, float]:
        """Return the values of the window that was logged last, zeros before the first."""
        with self._lock:
            return dict(self._last)

    @property
    def name(self) -> str:
        """Prefix of the value names."""
        return self._name

    @property
    def count(self) -> int:
        """Number of values in the current window."""
        return len(self._numbers)

    def __del__(self) -> None:
        if getattr(self, "_numbers", None):
            event = self._close()
            if event is not None:
                log_event(event)


class TensorboardEventHandler:
    """Event handler that writes the values of each ``Stat`` as scalars with a ``SummaryWriter``."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            moment = event.timestamp.timestamp()
            for name, number in event.data.items():
                self._writer.add_scalar(name, number, walltime=moment)
