"""Small parts of torch's profiler that programs use by themselves: spans of time, counters of steps."""
from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar, NamedTuple


class Interval:
    """A span of time in microseconds."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> int:
        """Return the length in microseconds."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel of a device, as an event lists it."""

    name: str
    device: int
    duration: int


class EnforceUnique:
    """Raises for a key that comes a second time."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Note a key. Raise RuntimeError if it was noted before."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps of several requesters; the step of all is the largest one."""

    _current_step: ClassVar[int] = 0
    _step_dict: ClassVar[dict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin at the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a requester; return whether it was known."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a requester; return the step of all."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the step of all."""
        return cls._current_step
