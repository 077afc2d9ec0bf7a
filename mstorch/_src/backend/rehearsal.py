"""The rehearsal of tests (MSTORCH_FAKE_DEVICE=rehearsal): MindSpore itself reports an Ascend device, one of eight.

mstorch then takes the branches of a real device. MindSpore's queries of the device runtime are mocked (devices, streams, events, memory
statistics), and so are random numbers and writes into strided views; kernels run as on the stand-in device. MindSpore's CPU kernels raise:
on an Ascend they would compute there.
"""
from __future__ import annotations

import time
import types
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import mindspore
import numpy as np
from mindspore import mint
from mindspore.ops.auto_generate import gen_ops_prim

from .arrays import Array

DEVICES = 8
calls: list[tuple[str, Any]] = []
"""Calls of the device's runtime, in order."""

sources: dict[str, Callable[..., Array]] = {}
"""Replacements of random functions by their names in ``mint``: tests that compare with torch draw from the CPU's stream."""
uncounted: list[Callable[[], Any]] = [nullcontext]
"""A single function that returns a context manager in which reads of values are not counted."""

MEMORY = 64 << 30


class Stream:
    """Mock of a device stream, whose work is complete when a call returns."""

    def __init__(self, priority: int = 0, device: Any = None) -> None:
        if priority not in (0, -1):
            raise ValueError(f"a priority is 0 or -1, not {priority}")
        self.id = len([name for name, _ in calls if name == "stream"])
        self.device_name, self.device_id = "Ascend", 0
        calls.append(("stream", priority))

    def query(self) -> bool:
        """Return True: all work is complete."""
        return True

    def synchronize(self) -> None:
        """Record the call."""
        calls.append(("stream.synchronize", self.id))

    def record_event(self, event: Any = None) -> Any:
        """Record the event."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Record the call."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Record the call."""
        calls.append(("stream.wait_stream", stream.id))


class Event:
    """Mock of an event; as in MindSpore, it has a time only if timing was enabled and it was recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self._timed, self._moment = enable_timing, None if enable_timing else 0.0

    def record(self, stream: Any = None) -> None:
        """Record the time."""
        self._moment = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Record the call."""
        calls.append(("event.wait", getattr(stream, "id", None)))

    def synchronize(self) -> None:
        """Record the call."""
        calls.append(("event.synchronize", None))

    def query(self) -> bool:
        """Return whether the event has completed."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds up to another event."""
        if not (self._timed and end._timed):
            raise RuntimeError("Both events must be created with enable_timing=True")
        if self._moment is None or end._moment is None:
            raise RuntimeError("Both events must be recorded")
        return (end._moment - self._moment) * 1000


_streams: list[Any] = []


def _current() -> list[Any]:
    if not _streams:
        first = Stream()
        _streams.extend((first, first))
    return _streams


def _set_current(stream: Any) -> None:
    _current()[1] = stream


def _set_device(target: str, index: int = 0) -> None:
    chosen = [value for name, value in calls if name == "set_device"]
    if chosen and chosen[-1] != (target, index):
        raise RuntimeError(f"The 'mindspore.set_device' can not be modified: {chosen[-1]} was set")
    calls.append(("set_device", (target, index)))


def _noted(name: str, result: Any = None) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        calls.append((name, args))
        return result

    return call


def _draw(name: str, draw: Callable[..., Array]) -> Callable[..., Any]:
    """Return a mock of a random mint function: like the device's kernels, it draws from the generator's seed and offset, and advances the
    offset.
    """

    def call(*args: Any, generator: Any, dtype: Any) -> Any:
        calls.append((name, args))
        if name in sources:
            return mindspore.Tensor(sources[name](*args, str(dtype).lower()), dtype)
        with uncounted[0]():
            state = generator.get_state().asnumpy().view(np.uint64).copy()
        found = draw(np.random.default_rng(state.tolist()), *args)
        state[1] += 10
        generator.set_state(mindspore.Tensor(state.view(np.uint8)))
        return mindspore.Tensor(found, dtype)

    return call


DRAWS: dict[str, Callable[..., Array]] = {
    "rand": lambda numbers, shape: numbers.random(shape), "randn": lambda numbers, shape: numbers.standard_normal(shape),
    "randint": lambda numbers, low, high, shape: numbers.integers(low, high, shape),
    "randperm": lambda numbers, n: numbers.permutation(n),
}  # fmt: skip


class _Bits:
    """Mock of the primitive DropoutGenMaskExt, which draws from a seed and an offset."""

    def __call__(self, shape: tuple[int, ...], p: float, seed: Any, offset: Any, kind: Any) -> Any:
        calls.append(("bits", (shape, p)))
        with uncounted[0]():
            numbers = np.random.default_rng([int(seed.asnumpy()) % (1 << 64), int(offset.asnumpy()) % (1 << 64)])
        count = -(-int(np.prod(shape)) // 128) * 128
        return mindspore.Tensor(np.packbits(numbers.random(count) >= p, bitorder="little"))


def begin() -> None:
    """Make MindSpore report an Ascend device, before mstorch queries it."""
    mindspore.runtime.launch_blocking()
    context = mindspore.get_context
    figures = dict.fromkeys(("total_allocated_memory", "max_allocated_memory", "total_reserved_memory", "max_reserved_memory"), 0)
    properties = types.SimpleNamespace(name="Ascend910B (rehearsed)", total_memory=MEMORY, free_memory=MEMORY // 2)
    places: list[tuple[Any, dict[str, Any]]] = [
        (mindspore, {"get_context": lambda name: "Ascend" if name == "device_target" else context(name), "set_device": _set_device}),
        (mindspore.hal, {
            "device_count": lambda target=None: DEVICES, "get_device_name": lambda index, target=None: properties.name,
            "get_device_properties": lambda index, target=None: properties,
        }),
        (mindspore.runtime, {
            "Stream": Stream, "Event": Event, "default_stream": lambda: _current()[0], "current_stream": lambda: _current()[1],
            "set_cur_stream": _set_current, "synchronize": _noted("synchronize"), "empty_cache": _noted("empty_cache"),
            "memory_allocated": _noted("memory_allocated", 0), "max_memory_allocated": _noted("max_memory_allocated", 0),
            "memory_stats": lambda: dict(figures), "reset_peak_memory_stats": _noted("reset_peaks"), "memory_summary": lambda: "no pool",
        }),
        (mint, {name: _draw(name, draw) for name, draw in DRAWS.items()}),
        (gen_ops_prim, {"DropoutGenMaskExt": _Bits}),
    ]  # fmt: skip
    for module, names in places:
        for name, value in names.items():
            setattr(module, name, value)
