"""Tables of measurements: one per label, with a row per sub-label and a column per description."""
from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from .common import Measurement, _log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"

Row = tuple[int, "str | None", str]  # threads, environment, name


class Colorize(enum.Enum):
    """The direction in which times are compared for colours: none, within a column, or within a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _row_of(measurement: Measurement) -> Row:
    task = measurement.task_spec
    return task.num_threads, task.env, measurement.as_row_name


def _coloured(text: str, value: float, best: float) -> str:
    if value <= best * 1.01 or value <= best + 100e-9:
        return _BEST + _BOLD + text + _END * 2
    if value <= best * 1.1:
        return _GOOD + _BOLD + text + _END * 2
    if value >= best * 5:
        return _VERY_BAD + _BOLD + text + _END * 2
    return _BAD + text + _END * 2 if value >= best * 2 else text


class _Column:
    """The number format of a column: one width and precision."""

    def __init__(self, cells: list[Measurement | None], scale: float, trim: bool, warn: bool) -> None:
        there = [cell for cell in cells if cell is not None]
        self._scale, self._trim = scale, trim
        self._warn = warn and any(cell.has_warnings for cell in there)
        whole = [math.ceil(_log10(cell.median / scale)) for cell in there]
        places = min(max(cell.significant_figures - digits, 0) for cell, digits in zip(there, whole)) if trim else 1
        self._form = f">{max(whole) + places + bool(places)}.{places}f"

    def text(self, cell: Measurement | None) -> str:
        if cell is None:
            return " " * len(self._written(1, 1, None))
        spread = cell.iqr / cell.median if cell.has_warnings else None
        return self._written(cell.median / self._scale, cell.significant_figures, spread)

    def _written(self, value: float, figures: int, spread: float | None) -> str:
        number = trim_sigfig(value, figures) if self._trim else value
        mark = f" (! {spread * 100:.0f}%)" if self._warn and spread is not None else ""
        return format(number, self._form) + (f"{mark:>7}" if self._warn else mark)


class Table:
    """Text of one table; all ``results`` have the same label."""

    def __init__(
        self, results: list[Measurement], colorize: Colorize, trim_significant_figures: bool, highlight_warnings: bool
    ) -> None:
        if len({result.task_spec.label for result in results}) != 1:
            raise AssertionError("All results must share the same label")
        self.results, self.label = results, results[0].task_spec.label
        self.time_unit, self.time_scale = select_unit(min(result.median for result in results))
        self.row_keys: list[Row] = sorted(ordered_unique(map(_row_of, results)), key=lambda key: key[:2])
        self.column_keys = ordered_unique(result.task_spec.description for result in results)
        self._colorize, self._warn = colorize, highlight_warnings
        found = {(_row_of(result), result.task_spec.description): result for result in results}
        self._cells = [[found.get((row, column)) for column in self.column_keys] for row in self.row_keys]
        self._columns = [
            _Column(list(cells), self.time_scale, trim_significant_figures, highlight_warnings) for cells in zip(*self._cells)
        ]

    def _names(self) -> list[str]:
        """Return the row labels. With several environments, a label shows the environment unless the row above has the same one and the
        same number of threads."""
        environments: list[Any] = ordered_unique(result.task_spec.env for result in self.results)
        several = len(environments) > 1
        width = 4 + (max(map(len, environments)) if several else 0)
        names, before = [], None
        for threads, environment, name in self.row_keys:
            shown = f"({environment})" if several and (threads, environment) != before else ""
            names.append("  " + shown.ljust(width) + name)
            before = threads, environment
        return names

    def _best(self, line: int, place: int) -> float:
        """Return the reference time for a cell: the least of its row, or of its column among rows with the same number of threads."""
        if self._colorize == Colorize.ROWWISE:
            others = self._cells[line]
        else:
            threads = self.row_keys[line][0]
            others = [cells[place] for key, cells in zip(self.row_keys, self._cells) if key[0] == threads]
        return min(cell.median for cell in others if cell is not None)

    def render(self) -> str:
        """Return the table as text: title, head, rows, and footnotes."""
        texts = [["", *self.column_keys]]
        for name, cells in zip(self._names(), self._cells):
            texts.append([name, *(column.text(cell) for column, cell in zip(self._columns, cells))])
        widths = [max(map(len, column)) for column in zip(*texts)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(texts[0], widths))]
        overall = len(lines[0])
        for number, (row, cells) in enumerate(zip(texts[1:], self._cells)):
            threads = self.row_keys[number][0]
            if number == 0 or threads != self.row_keys[number - 1][0]:
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
            parts = [row[0].ljust(widths[0])]
            for place, cell in enumerate(cells):
                part = row[place + 1].center(widths[place + 1])
                if cell is not None and self._colorize != Colorize.NONE:
                    part = _coloured(part, cell.median, self._best(number, place))
                parts.append(part)
            lines.append("  |  ".join(parts))
        title = f"[{f' {self.label or str()} '.center(overall - 2, '-')}]"
        notes = f"Times are in {unit_to_english(self.time_unit)}s ({self.time_unit}).\n"
        if self._warn and any(result.has_warnings for result in self.results):
            notes += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([title, *lines, "", notes])


class Compare:
    """Measurements as tables: ``print(Compare(results))``. Measurements with the same TaskSpec are merged."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raise ValueError for other objects."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no more figures than are significant."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour good and bad times, compared per column or per row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times with a large spread."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label, []).append(result)
        shown = (self._colorize, self._trim_significant_figures, self._highlight_warnings)
        return "\n".join(Table(group, *shown).render() for group in groups.values())
