"""Measures the cost of work on the stand-in device: kernels, casts, host copies, reads of values, and host time."""
from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from . import fake
from .cast import casts
from .raw import uploads

_PACKAGE = str(Path(__file__).parents[2])
_COMMON = (
    "_src/backend/raw", "_src/backend/cost", "_src/backend/fake", "_src/backend/table", "_src/backend/cast", "_src/backend/constants",
    "_src/tape/moving", "_src/tape/movement", "_src/core/tensor_base", "_src/core/storage",
)  # fmt: skip
"""Files that move values at anyone's request, and are not named as those that asked."""


def _source_lines() -> str:
    """Return the user's source line as text and, in parentheses, the innermost line of mstorch that is not part of the common dispatch."""
    own = ""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_PACKAGE):
            part = name[len(_PACKAGE) + 1 :]
            if not own and not part.startswith(_COMMON):
                own = f"{part}:{frame.f_lineno}"
        elif not name.startswith("<") and "contextlib" not in name and "/mindspore/" not in name:
            return f"{Path(name).name}:{frame.f_lineno} ({own})"
        frame = frame.f_back
    return f"({own})"


@cache
def _launches() -> dict[str, int]:
    """Return how many kernels an operation launches, for the operations that launch several, as tools/kernel_map.py counted them on sample
    calls.
    """
    found: dict[str, int] = json.loads(Path(__file__).with_name("ascend").joinpath("launches.json").read_text())
    return found


class Cost:
    """Cost counters of a block of code. Kernels are counted by name; casts, copies and reads by the source line that caused them. Times are
    CPU seconds."""

    def __init__(self) -> None:
        self.kernels: Counter[str] = Counter()
        self.casts: Counter[str] = Counter()
        self.copies: Counter[str] = Counter()
        self.copied: Counter[str] = Counter()
        """Bytes by the requesting line."""
        self.reads: Counter[str] = Counter()
        self.seconds = 0.0
        self.in_kernels = 0.0
        self.timed = 0
        """The number of kernels that were timed."""
        self._began = time.thread_time()

    @property
    def host(self) -> float:
        """Return the host seconds outside of kernels, copies and reads, minus the time that measuring them took."""
        return self.seconds - self.in_kernels - self.timed * _timing_overhead()

    def end(self) -> Cost:
        """Stop the clock; return self."""
        self.seconds = time.thread_time() - self._began
        return self

    def text(self, lines: int = 12) -> str:
        """Return the counts as text, with the most frequent names."""
        copied = sum(self.copied.values())
        parts = [
            f"kernels {sum(self.kernels.values())}, casts {sum(self.casts.values())}, copies up {sum(self.copies.values())} "
            f"({copied} bytes), reads {sum(self.reads.values())}, host {self.host * 1e3:.1f} ms outside kernels"
        ]
        for title, counts in (("kernels", self.kernels), ("casts", self.casts), ("copies up", self.copies), ("reads", self.reads)):
            for name, count in counts.most_common(lines):
                size = f", {self.copied[name]} bytes" if counts is self.copies else ""
                parts.append(f"  {title:10} {count:5}  {name}{size}")
        return "\n".join(parts)

    def numbers(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "kernels": dict(self.kernels), "casts": dict(self.casts), "copies": dict(self.copies), "bytes": dict(self.copied),
            "reads": dict(self.reads), "host": self.host,
        }  # fmt: skip


class _Meter:
    """Adds the work of the stand-in device to all open counters."""

    def __init__(self) -> None:
        self.open: list[Cost] = []

    def kernel(self, name: str) -> None:
        for cost in self.open:
            cost.kernels[name] += _launches().get(name[1:-1], 1) if name[0] == "(" else 1

    def cast(self) -> None:
        if not fake.quiet():
            for cost in self.open:
                cost.casts[_source_lines()] += 1

    def copy(self, size: int) -> None:
        if self.open and not fake.quiet():
            asked = _source_lines()
            for cost in self.open:
                cost.copies[asked] += 1
                cost.copied[asked] += size

    def read(self) -> None:
        if self.open:
            asked = _source_lines()
            for cost in self.open:
                cost.reads[asked] += 1

    def time(self, seconds: float) -> None:
        for cost in self.open:
            cost.in_kernels += seconds
            cost.timed += 1


@cache
def _timing_overhead() -> float:
    """Return the overhead in seconds of timing a kernel: the minimum over ten rounds of timing a kernel without work."""
    row, count, rounds = fake.played("", _empty_kernel, lambda: _empty_kernel, lambda: _empty_kernel), 200, []
    for _ in range(10):
        cost = Cost()
        _meter.open.append(cost)
        for _ in range(count):
            row()
        _meter.open.remove(cost)
        cost.end()
        began = time.thread_time()
        for _ in range(count):
            _empty_kernel()
        rounds.append((cost.seconds - cost.in_kernels - (time.thread_time() - began)) / count)
    del fake.computed[""]
    return max(min(rounds), 0.0)


def _empty_kernel() -> None:
    """Do nothing: a kernel without work, by which the overhead of timing is measured."""


_meter = _Meter()
casts.append(_meter.cast)
uploads.append(_meter.copy)
fake.on_kernel.append(_meter.kernel)
fake.on_transfer.append(_meter.read)
fake.on_time.append(_meter.time)


@contextmanager
def counted() -> Iterator[Cost]:
    """Context manager that counts the work done in it."""
    cost = Cost()
    _meter.open.append(cost)
    try:
        yield cost
    finally:
        _meter.open.remove(cost)
        cost.end()


def stepwise(report: Callable[[Cost], None]) -> Callable[[], None]:
    """Count from now on; each call of the returned function reports the counts since the previous one."""
    current = [Cost()]
    _meter.open.append(current[0])

    def step() -> None:
        _meter.open.remove(current[0])
        report(current[0].end())
        current[0] = Cost()
        _meter.open.append(current[0])

    return step
