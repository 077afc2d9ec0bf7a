"""Times of torch's functions, recorded by Python's profiling hook."""
from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .._src.core.built_in import written
from .._src.core.modes import modes
from .._src.core.tensor_base import TensorBase
from .._src.leaving import each, length_again
from .._src.tape import accumulate, apply
from .._src.tape.node import Node, numbers_ahead
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


_KERNELS = frozenset(function.__code__ for function in (apply.apply, apply.apply_one, apply.apply_pair))
_ACCUMULATION = accumulate.put_gradient.__code__


def _gradients(kind: type[Node] = Node) -> Iterator[types.CodeType]:
    """Yield the code by which nodes compute gradients."""
    run = vars(kind).get("run")
    if run is not None:
        yield run.__code__
    for below in kind.__subclasses__():
        yield from _gradients(below)


def _shapes(frame: types.FrameType) -> list[Any]:
    """Return the shape of each argument of a call, as torch lists them: of what is no tensor, an empty one."""
    code, given = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = [given[name] for name in names if name != "out" and name in given]
    return [list(value.shape) if isinstance(value, TensorBase) else [] for value in values]


def _takes_tensors(frame: types.FrameType) -> bool:
    return any(isinstance(value, TensorBase) or (value.__class__ in (list, tuple) and any(isinstance(part, TensorBase) for part in value))
               for value in frame.f_locals.values())  # fmt: skip


class Recorder:
    """Records when operations, nodes of backward and named blocks begin and end, in all threads."""

    def __init__(self, operations: bool = True, shapes: bool = False) -> None:
        self._operations = _operations() if operations else {}
        self._with_shapes = shapes
        self._gradients: frozenset[types.CodeType] = frozenset()
        self._threads: dict[int, int] = {}  # the thread of an operation by the number of its node
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
        code = frame.f_code
        if event == "call":
            name = self._operations.get(code)
            if name is not None:
                self._begin_operation(name, frame)
            elif code in _KERNELS:
                if not any(one[2].__class__ is types.FrameType for one in self._open()):  # an operator of Python's, as in ``x + y``
                    self._begin_operation(f"aten::{frame.f_locals['op'].op}", frame)
            elif code in self._gradients and isinstance(frame.f_locals.get("self"), Node):
                self._begin_gradient(frame, frame.f_locals["self"])
            elif code is _ACCUMULATION:
                self._begin_gradient(frame, None)
        elif event == "return":
            stack = self._open()
            while stack and stack[-1][2] is frame:
                self.end()

    def _begin_operation(self, name: str, frame: types.FrameType) -> None:
        stack, number = self._open(), -1
        if modes.grad and not any(one[0].startswith("aten::") for one in stack) and _takes_tensors(frame):
            number = numbers_ahead()
            self._threads[number] = threading.get_ident()
        self.begin(name, frame, False, number, _shapes(frame) if self._with_shapes else ())

    def _begin_gradient(self, frame: types.FrameType, node: Node | None) -> None:
        name, number = ("torch::autograd::AccumulateGrad", -1) if node is None else (node.name(), node.sequence)
        thread = self._threads.get(number, threading.get_ident()) if node is not None else 0
        self.begin(f"autograd::engine::evaluate_function: {name}", frame, False, number, (), thread)
        self.begin(name, frame, False, number, (), thread)

    def begin(
        self, name: str, owner: Any, is_user_annotation: bool = False, number: int = -1, shapes: Any = (), forward_thread: int = 0
    ) -> None:
        """Record that an operation, or a block, begins in this thread."""
        self._open().append((name, time.perf_counter(), owner, [], is_user_annotation, number, shapes, forward_thread))

    def end(self) -> None:
        """Record that this thread's innermost operation or block ends."""
        stack = self._open()
        name, start, _, children, user, number, shapes, thread = stack.pop()
        event = FunctionEvent(
            0, name, threading.get_ident(), (start - self._begin) * 1e6, (time.perf_counter() - self._begin) * 1e6, user
        )
        event.cpu_children = children
        event.sequence_nr, event.input_shapes, event.fwd_thread = number, shapes, thread
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
            self._gradients = frozenset(_gradients())
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
