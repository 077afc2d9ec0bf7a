"""Timing in processes of their own: MindSpore's worker threads spin and would slow another library in the same process."""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def median_ms(step: Callable[[], Any], warmup: int, repeats: int) -> float:
    """The median time of a call in milliseconds."""
    for _ in range(warmup):
        step()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def in_process(script: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run ``script`` with arguments in a new process; the last line that it prints is a JSON object."""
    variables = {**os.environ, "GLOG_v": "3", **(environment or {})}
    run = subprocess.run([sys.executable, script, *arguments], env=variables, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{run.stderr[-3000:]}")
    return json.loads(run.stdout.strip().splitlines()[-1])


def in_turn(rounds: int, measurements: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Medians over rounds, in each of which every measurement is taken once."""
    taken: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table with aligned columns."""
    texts = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *texts]) for i in range(len(header))]
    for row in [list(header), *texts]:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))
