"""A timer of statements that warms up, repeats, and limits its own overhead."""
from __future__ import annotations

import enum
import statistics
import textwrap
import timeit
from collections.abc import Callable
from typing import Any, NoReturn

import mstorch as torch

from . import common

_MOST_RUNS = 2**31 - 1
_OVERHEAD = 1e-4  # maximum fraction of the clock's time in a measurement

Callback = Callable[[int, float], Any]


def timer() -> float:
    """Synchronize the accelerator, if there is one, and return the time in seconds."""
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of a statement: Python or C++."""

    PYTHON = 0
    CPP = 1


def _dedented(code: str) -> str:
    return textwrap.dedent(code).removeprefix("\n").rstrip()


class Timer:
    """Times ``stmt`` after ``setup``, both source text, with ``num_threads`` threads; the labels name it in tables.

    ``globals`` are the statement's globals, to which ``torch`` is added. C++ raises NotImplementedError.
    """

    _timer_cls = timeit.Timer

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: Language | str = Language.PYTHON,
    ) -> None:  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("mstorch: torch.utils.benchmark times Python only, no C++")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        names = {"torch": torch, **(globals or {})}
        code, before = _dedented(stmt), _dedented(setup)
        self._globals, self._language = names, Language.PYTHON
        self._timer = self._timer_cls(stmt=code, setup=before, timer=timer, globals=names)
        self._task_spec = common.TaskSpec(code, before, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # nonzero, because it is a divisor

    def _measured(self, number: int, times: list[float]) -> common.Measurement:
        return common.Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number: int = 1000000) -> common.Measurement:
        """Return one measurement of ``number`` runs, after a warm-up of 1 % of them."""
        with common.set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError: use ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callback | None = None) -> None:
        """Raise NotImplementedError: use ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, least: float) -> int:
        """Return the number of runs per measurement, a power of ten, that makes the timer's overhead negligible; also warms up."""
        clock = statistics.median(self._timeit(0) for _ in range(5))
        number = 1
        while number * 10 <= _MOST_RUNS:
            taken = self._timeit(number)
            if taken > least or (clock <= _OVERHEAD * taken and taken >= least / 1000):
                break
            number *= 10
        return number

    def _loop(
        self, number: int, enough: Callable[[list[float]], bool], least: float, most: float | None, callback: Callback | None
    ) -> common.Measurement:
        times: list[float] = []
        total, done = 0.0, False
        while total < least or not done:
            times.append(self._timeit(number))
            total += times[-1]
            if callback:
                callback(number, times[-1])
            done = enough(times)
            if most and total > most:
                break
        return self._measured(number, times)

    def blocked_autorange(self, callback: Callback | None = None, min_run_time: float = 0.2) -> common.Measurement:
        """Measure blocks of runs, large enough to make the timer's overhead negligible, for ``min_run_time`` seconds."""
        with common.set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            return self._loop(number, lambda times: True, min_run_time, None, callback)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Callback | None = None
    ) -> common.Measurement:
        """Measure until the interquartile range of at least four measurements is below ``threshold`` times the median, or for
        ``max_run_time``.
        """

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        with common.set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            return self._loop(number, enough, min_run_time, max_run_time, callback)

    def collect_callgrind(
        self, number: int = 100, *, repeats: int | None = None, collect_baseline: bool = True, retain_out_file: bool = False
    ) -> NoReturn:
        """Raise NotImplementedError: instruction counts are not supported."""
        raise NotImplementedError("mstorch: torch.utils.benchmark counts no instructions; see `Timer.blocked_autorange`")
