"""Profiler events: single ones, sums per name, and tables."""
from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any


def _time_text(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


@dataclasses.dataclass
class Interval:
    """A time interval in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Return the length in microseconds."""
        return self.end - self.start


class _Times:
    """Times in microseconds, as numbers and as text. Devices are not timed: their times are 0."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int
    device_time_total = self_device_time_total = device_time = cuda_time = 0.0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = flops = 0
    is_async = is_remote = is_legacy = False
    input_shapes: Any = ()

    @property
    def cpu_time(self) -> float:
        """The mean time per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """The mean time per call, as text."""
        return _time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The total time of all calls, as text."""
        return _time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The total time of all calls without their children's, as text."""
        return _time_text(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call of an operation, or one ``record_function`` block."""

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, is_user_annotation: bool = False, node_id: int = -1,
        is_async: bool = False,
    ) -> None:  # fmt: skip
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread, self.node_id, self.is_async = thread, node_id, is_async
        self.time_range = Interval(start_us, end_us)
        self.is_user_annotation = is_user_annotation
        self.sequence_nr, self.fwd_thread, self.input_shapes = -1, 0, ()
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def cpu_time_total(self) -> float:
        """The time of the call."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of the call without its children's."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread}>"
        )


class FunctionEventAvg(_Times):
    """The sums of the times of all calls with one name, and their number."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.is_user_annotation = False

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event or another sum; return self."""
        if self.key is None:
            self.key = other.key
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.count += other.count
        self.is_user_annotation = other.is_user_annotation
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        times = f"self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}"
        return f"<FunctionEventAvg key={self.key} {times} count={self.count}>"


class EventList(list):  # type: ignore[type-arg]
    """A list of events, or of sums of events."""

    def __init__(self, events: Iterable[Any] = (), **unused: Any) -> None:
        super().__init__(events)

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of all events' self times, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the sums of calls by name, and by shapes of arguments if these are asked for. Stacks are not recorded, so that grouping by
        them has no effect."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            total = sums.setdefault((event.key, shapes), FunctionEventAvg()).add(event)
            if group_by_input_shapes:
                total.input_shapes = event.input_shapes
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all calls."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
        max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """Return the first rows as a table, sorted by a column such as ``self_cpu_time_total`` in descending order."""
        if not self:
            return ""
        rows = [event for event in self if not top_level_events_only or getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by.replace("cuda", "device")), reverse=True)
        total = self.self_cpu_time_total

        def share(value: float) -> str:
            return f"{value * 100 / total:.2f}%" if total else "NaN"

        cells: list[tuple[str, ...]] = [
            (_short(event.key, max_name_column_width), share(event.self_cpu_time_total), event.self_cpu_time_total_str,
             share(event.cpu_time_total), event.cpu_time_total_str, event.cpu_time_str, str(event.count))
            for event in (rows if row_limit < 0 else rows[:row_limit])
        ]  # fmt: skip
        width = max(len(row[0]) for row in (*cells, ("Name",))) + 4
        widths: tuple[int, ...] = (width, 12, 12, 12, 12, 12, 12)
        rule = "  ".join("-" * w for w in widths) + "  "
        titles: tuple[str, ...] = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
        if any(event.input_shapes for event in rows):
            shown = rows if row_limit < 0 else rows[:row_limit]
            texts = [_short(str(event.input_shapes or []), max_shapes_column_width) for event in shown]
            cells = [(*row, text) for row, text in zip(cells, texts)]
            widths, titles = (*widths, max(map(len, (*texts, "Input Shapes"))) + 4), (*titles, "Input Shapes")
            rule = "  ".join("-" * w for w in widths) + "  "
        lines = [rule, _row(titles, widths), rule, *(_row(row, widths) for row in cells), rule]
        if header is not None:
            lines[:0] = ["=" * len(rule), header]
        return "\n".join([*lines, f"Self CPU time total: {_time_text(total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace for chrome://tracing and Perfetto."""
        events = [
            {"name": event.name, "ph": "X", "ts": event.time_range.start, "dur": event.time_range.elapsed_us(), "tid": event.thread,
             "pid": "CPU functions", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "args": {}}
            for event in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)


def _short(name: str, width: int) -> str:
    return name if width < 0 or len(name) <= width else f"{name[: width - 3]}..."


def _row(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths)) + "  "
