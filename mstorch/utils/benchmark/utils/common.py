"""TaskSpec and Measurement: the timed statement, its times, and their formatting."""
from __future__ import annotations

import contextlib
import dataclasses
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import mstorch as torch

_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9  # seconds: the resolution of a clock
_SPREAD = 0.1  # an interquartile range above this fraction of the median causes a warning
_GROSS_SPREAD = 0.25
_Z_90 = 1.645  # 90 % of a normal distribution are within this many standard deviations

_UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1, "second")}


def _log10(x: float) -> float:
    """Return log10, rounded to float32 as torch's is, without warnings. NumPy's float32 log10 is less exact."""
    with np.errstate(all="ignore"):
        return float(np.float32(np.log10(np.float64(np.float32(x)))))


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """The statement that a Timer runs, and its labels."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label or the statement, and the sub-label."""
        if self.label is None and "\n" in self.stmt:
            mark = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{mark}\n{textwrap.indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """Return the setup code with its heading, or an empty string."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return the title, description and setup as lines, with a blank line after a multi-line part."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(part + "\n" if "\n" in part else part for part in parts)


_FIELDS = tuple(field.name for field in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement in seconds: each of ``raw_times`` covers ``number_per_run`` runs. The TaskSpec's fields are attributes too."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __post_init__(self) -> None:
        self._sorted_times: tuple[float, ...] = ()
        self._warnings: tuple[str, ...] = ()
        self._median = self._mean = self._p25 = self._p75 = -1.0

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    def _lazy_init(self) -> None:
        """Compute the statistics, on first use."""
        if self._sorted_times or not self.raw_times:
            return
        self._sorted_times = tuple(sorted(self.times))
        whole = torch.tensor(self._sorted_times, dtype=torch.float64)
        self._mean = whole.mean().item()
        self._p25, self._median, self._p75 = (whole.quantile(part).item() for part in (0.25, 0.5, 0.75))
        if self.meets_confidence(_SPREAD):
            return
        gross = not self.meets_confidence(_GROSS_SPREAD)
        reason = "This suggests significant environmental influence." if gross else "This could indicate system fluctuation."
        share = self.iqr / self.median * 100
        self._warnings = (f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n{' ' * 11}{reason}",)

    @property
    def times(self) -> list[float]:
        """Seconds per run."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the seconds per run."""
        self._lazy_init()
        return self._median

    @property
    def mean(self) -> float:
        """The mean of the seconds per run."""
        self._lazy_init()
        return self._mean

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        self._lazy_init()
        return self._p75 - self._p25

    @property
    def significant_figures(self) -> int:
        """The number of significant figures of the median, 1 to 4, from a 90 % interval of the interquartile samples."""
        self._lazy_init()
        count = len(self._sorted_times)
        middle = np.array(self._sorted_times[count // 4 : int(np.ceil(3 * count / 4))], np.float32)
        interval = max(_Z_90 * float(middle.std(dtype=np.float64)) / middle.size**0.5, _LEAST_INTERVAL)
        return min(max(int(np.floor(_log10(self._median / interval))), 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """True if the times vary so much that the text contains a warning."""
        self._lazy_init()
        return bool(self._warnings)

    def meets_confidence(self, threshold: float = _SPREAD) -> bool:
        """Return whether the interquartile range is below ``threshold`` times the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The title of the task."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The row label in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        self._lazy_init()
        count, threads = len(self._sorted_times), self.task_spec.num_threads
        unit, scale = select_unit(self._median)
        low, middle, high, spread = (value / scale for value in (self._p25, self._median, self._p75, self.iqr))
        lines = [f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>", *self.task_spec.summarize().split("\n")]
        lines.append(f"  {'Median: ' if count > 1 else ''}{middle:.2f} {unit}")
        if count >= 4:
            lines.append(f"  IQR:    {spread:.2f} {unit} ({low:.2f} to {high:.2f})")
        counted = f"{count} measurement{'s' * (count > 1)}, {self.number_per_run} runs {'per measurement,' if count > 1 else ','}"
        lines.append(f"  {counted} {threads} thread{'s' * (threads > 1)}")
        lines += [line for warning in self._warnings for line in warning.splitlines()]
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge the times of measurements with the same TaskSpec; metadata is dropped."""
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, found, task) for task, found in times.items()]


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit for a time in seconds, and its length in seconds."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(_log10(t) // 3), "s")
    return unit, _UNITS[unit][0]


def unit_to_english(u: str) -> str:
    """Return a unit's English name."""
    return _UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """Return ``x`` rounded to ``n`` significant figures, in float32."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (int(np.ceil(_log10(abs(x)))) - n)
    return float(np.round(np.float32(x / scale)) * np.float32(scale))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the unique elements, in order of first occurrence."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Context manager that sets ``torch.set_num_threads(n)``."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)
