"""Times of torch's functions, recorded by Python's profiling hook."""
from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from .._src.core.built_in import written
from .._src.leaving import each, length_again
from ._profile_events import EventList, FunctionEvent

_ROOMS = ("_src.ops", "_src.namespace", "nn._functional")
_recorders: list[Recorder] = []  # the active recorders, the newest last


@functools.cache
def _operations() -> dict[types.CodeType, str]:
    """Return a dict from code objects to names of torch's functions; code shared by several functions is left out."""
    package = __name__.partition(".")[0]
    found: dict[types.CodeType, str] = {}
    shared: set[types.CodeType] = set()
    for place in ("", ".nn.functional", ".linalg", ".special", ".fft"):
        for name, value in vars(sys.modules[package + place]).items():
            function = inspect.unwrap(written(value)) if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) else None
            if not isinstance(function, types.FunctionType):
                continue
            room = function.__code__.co_filename.replace("\\", "/").rpartition(f"/{package}/")[2].replace("/", ".")
            if room.startswith(_ROOMS):
                if found.setdefault(function.__code__, name) != name and function.__name__ not in (name, found[function.__code__]):
                    shared.add(function.__code__)
    return {code: f"aten::{name}" for code, name in found.items() if code not in shared}


class Recorder:
    """Records when operations and named blocks begin and end, in all threads."""

    def __init__(self, operations: bool = True) -> None:
        self._operations = _operations() if operations else {}
        self._stacks = threading.local()
        self._events: list[FunctionEvent] = []
        self._begin, self._thread = 0.0, 0
        self._before: Any = None

    def _open(self) -> list[Any]:
        stack = getattr(self._stacks, "items", None)
        if stack is None:
            stack = self._stacks.items = []
        return stack

    def _see(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "call":
            name = self._operations.get(frame.f_code)
            if name is not None:
                self.begin(name, frame)
        elif event == "return" and frame.f_code in self._operations:
            stack = self._open()
            if stack and stack[-1][2] is frame:
                self.end()

    def begin(self, name: str, owner: Any, is_user_annotation: bool = False) -> None:
        """Record that an operation, or a block, begins in this thread."""
        self._open().append((name, time.perf_counter(), owner, [], is_user_annotation))

    def end(self) -> None:
        """Record that this thread's innermost operation or block ends."""
        stack = self._open()
        name, start, _, children, user = stack.pop()
        event = FunctionEvent(
            0, name, threading.get_ident(), (start - self._begin) * 1e6, (time.perf_counter() - self._begin) * 1e6, user
        )
        event.cpu_children = children
        for child in children:
            child.cpu_parent = event
        if stack:
            stack[-1][3].append(event)
        self._events.append(event)

    def is_open(self, owner: Any) -> bool:
        """Return whether this thread's innermost open event belongs to ``owner``."""
        stack = self._open()
        return bool(stack) and stack[-1][2] is owner

    def start(self) -> None:
        """Start recording."""
        self._begin, self._thread = time.perf_counter(), threading.get_ident()
        if sys.getprofile() is None:  # the interpreter removes a profiler in which an interrupt was raised
            _recorders[:] = [one for one in _recorders if not one._operations or one._thread != self._thread]
        _recorders.append(self)
        if self._operations:
            self._before = sys.getprofile()
            threading.setprofile(self._see)
            sys.setprofile(self._see)

    def stop(self) -> None:
        """Stop recording."""
        if self._operations:
            sys.setprofile(self._before)
            threading.setprofile(self._before)
        if self in _recorders:
            _recorders.remove(self)

    def events(self) -> EventList:
        """Return the recorded events, ordered by start time."""
        events = sorted(self._events, key=lambda event: (event.time_range.start, -event.time_range.end))
        for number, event in enumerate(events, 1):
            event.id = number
        return EventList(events)


def watching_again() -> Callable[[], Any]:
    """Return a function that restores the active recorders and the interpreter's profiling hooks."""
    profiler = sys.getprofile()
    of_threads = partial(setattr, threading, "_profile_hook", threading.getprofile())
    return each(partial(sys.setprofile, profiler), of_threads, length_again(_recorders))


def running() -> list[Recorder]:
    """Return the active recorders."""
    return list(_recorders)
