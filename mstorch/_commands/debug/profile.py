"""Profile of a run for ``python -m mstorch profile``: times of operations, gradients, optimizer steps, kernels, modules and source lines,
and of waits and copies.

``MSTORCH_PROFILE=FILE`` enables it; the file is written when the process ends. A thread samples lines, the rest is timed when called.
"""
from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import resource
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._src.core.above import above
from ..._src.core.tensor_base import TensorBase
from ..._src.tape.node import node_of
from .compare import UNWATCHED
from .oracle import tensors_in
from .places import described, place_of_call

VARIABLE = "MSTORCH_PROFILE"
Function = Callable[..., Any]
_PACKAGE = str(Path(__file__).resolve().parents[2])
_LIBRARIES = (_PACKAGE, "<frozen", os.path.dirname(os.__file__))
_MOST_EVENTS = 100_000
_EVERY = 0.002


class Profile:
    """The record of one process, from the first operation to the process's end."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.began: float | None = None
        self.ended = 0.0
        self.inside = False
        self.sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0]))
        self.lines: Counter[str] = Counter()
        self.why: dict[str, Counter[str]] = defaultdict(Counter)
        self.events: list[tuple[str, str, float, float, str]] = []
        self._gradient: tuple[str, str, float] | None = None
        self._modules: list[list[Any]] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []
        self._main = threading.main_thread().ident
        self._over = threading.Event()
        self._searching = 0.0
        self._sampler = threading.Thread(target=self.sample, daemon=True)
        self._sampled, self._line = 0.0, ""  # when the main thread was last sampled, and its line

    # Events

    def start(self, where: str) -> None:
        """Start the record at the program's first operation."""
        self.began, self._line = time.perf_counter(), where
        hooks = above.torch.nn.modules.module
        hooks.register_module_forward_pre_hook(self.enter_module)
        hooks.register_module_forward_hook(self.leave_module)
        gc.callbacks.append(self.collecting)
        self._sampled = self.began
        self._sampler.start()
        atexit.register(self.finish)

    def add(self, kind: str, name: str, begin: float, place: str) -> float:
        """Add an interval that ends now."""
        end = time.perf_counter()
        total = self.sums[kind][name]
        total[0] += end - begin
        total[1] += 1
        if len(self.events) < _MOST_EVENTS:
            self.events.append((kind, name, begin, end, place))
        return end - begin

    def collecting(self, phase: str, about: Any) -> None:
        """Measure the time of Python's garbage collection; a collection within an operation is part of the operation's time."""
        if phase == "start":
            self._searching = time.perf_counter()
        elif not self.inside:
            self.add("garbage", f"generation {about['generation']}", self._searching, "")

    def watched(self, function: Function, name: str) -> Function:
        """Wrap an operation to be timed when the user's program calls it."""
        last = name.rpartition(".")[2]
        if last in UNWATCHED - {"numpy", "__array__", "backward"} or (last.startswith("_") and not last.startswith("__")):
            return function
        backward = last == "backward"

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self.inside or threading.get_ident() != self._main or not hasattr(above, "torch"):
                return function(*args, **kwargs)
            place = place_of_call()
            where = f"{place.file}:{place.line}"
            if self.began is None:
                self.start(where)
            self.inside = not backward
            begin = time.perf_counter()
            try:
                result = function(*args, **kwargs)
            finally:
                self.inside = False
                if backward:
                    self.end_gradient()
                else:
                    self.add("operation", name, begin, where)
            self.note(name, args, result, where)
            return result

        return timed

    def note(self, name: str, args: tuple[Any, ...], result: Any, where: str) -> None:
        """Add the properties of a call to its line, and time its gradient."""
        self.inside = True
        try:
            why = self.why[where]
            why[f"calls of {name}"] += 1
            tensors = list(tensors_in(result, TensorBase))
            for tensor in tensors[:1]:
                why["elements"] += tensor.numel()
                why[f"{tensor._ms_dtype.name} {name}"] += 1
            if tensors and not why[f"shape of {name}"]:
                why[f"shape of {name}"] = 1
                why[f"first: {name}({described(args)})"] = 1
            before = {id(tensor) for tensor in tensors_in(args, TensorBase)}
            for node in {node_of(tensor) for tensor in tensors if id(tensor) not in before or name.endswith("_")}:
                if node is not None:
                    node.register_prehook(functools.partial(self.begin_gradient, name, where))
        finally:
            self.inside = False

    def begin_gradient(self, name: str, where: str, given: Any) -> None:
        """Begin an operation's gradient, and end the previous one."""
        self.end_gradient()
        self._gradient = (name, where, time.perf_counter())

    def end_gradient(self) -> None:
        """End the current gradient."""
        if self._gradient is not None:
            name, where, begin = self._gradient
            self._gradient = None
            self.add("gradient", name, begin, where)

    def stepped(self, step: Function) -> Function:
        """Wrap an optimizer's step to be timed."""

        @functools.wraps(step)
        def timed(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            outer, self.inside = self.inside, True
            begin = time.perf_counter()
            try:
                return step(optimizer, *args, **kwargs)
            finally:
                self.inside = outer
                self.add("step", f"{type(optimizer).__name__}.step", begin, "")

        return timed

    def kernel(self, op: str, dtype: str, where: str, function: Function) -> Function:
        """Return a kernel of the table, timed."""
        name = f"{op} ({dtype}, {where})"

        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.add("kernel", name, begin, "")

        return timed

    def host_copy(self, tensor: Any) -> None:
        """Count a read of a device tensor's values."""
        self.count("reads of a device's values")

    def cast(self) -> None:
        """Count a cast between dtypes."""
        self.count("conversions between dtypes")

    def upload(self, size: int) -> None:
        """Count a copy to the device."""
        self.count("copies to the device")

    def count(self, what: str) -> None:
        """Count a cost for the current line."""
        if self.began is not None:
            place = place_of_call()
            self.why[f"{place.file}:{place.line}"][what] += 1
            self.sums["count"][what][1] += 1

    # Modules and lines

    def enter_module(self, module: Any, args: Any) -> None:
        """Begin a module's call."""
        if id(module) not in self._names:
            for name, inner in module.named_modules():
                self._names.setdefault(id(inner), f"{type(module).__name__}.{name}" if name else type(module).__name__)
                self._kept.append(inner)
        self._modules.append([module, time.perf_counter(), 0.0])

    def leave_module(self, module: Any, args: Any, output: Any) -> None:
        """End a module's call."""
        while self._modules:
            found, begin, below = self._modules.pop()
            if found is module:
                passed = self.add("module", self._names[id(module)], begin, "")
                self.sums["module alone"][self._names[id(module)]][0] += passed - below
                self.sums["module alone"][self._names[id(module)]][1] += 1
                if self._modules:
                    self._modules[-1][2] += passed
                return

    def sample(self) -> None:
        """Sample the main thread's line every two milliseconds."""
        while not self._over.wait(_EVERY):
            frame = sys._current_frames().get(self._main or 0)
            while frame is not None and (frame.f_code.co_filename.startswith(_LIBRARIES) or "site-packages" in frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                self._line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            self.until(time.perf_counter())  # if no line is running, the script has ended; the time goes to its last line

    def until(self, now: float) -> None:
        """Add the time since the last sample to the current line, and set the time of the last sample to ``now``."""
        self.lines[self._line] += now - self._sampled  # type: ignore[assignment]
        self._sampled = now

    def finish(self) -> None:
        """Write the record to the file."""
        self.ended = time.perf_counter()
        self._over.set()
        self._sampler.join()
        self.until(self.ended)  # on a busy machine the last sample may be old
        began = self.began or self.ended
        out = {
            "wall": self.ended - began, "lines": dict(self.lines), "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "sums": {kind: dict(sums) for kind, sums in self.sums.items()}, "why": {line: dict(why) for line, why in self.why.items()},
            "events": [(kind, name, begin - began, end - began, place) for kind, name, begin, end, place in self.events],
        }  # fmt: skip
        Path(self.file).write_text(json.dumps(out), "utf-8")
