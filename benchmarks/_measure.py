"""Timing in processes of their own: MindSpore's worker threads spin and would slow another library in the same process."""
from __future__ import annotations

import importlib
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


def least_of_rounds(step: Callable[[], Any], rounds: int, seconds: float = 0.002, slow: float = 0.05) -> float:
    """The least CPU time of a call in microseconds, of rounds of calls that take ``seconds``; two rounds do for a call above ``slow``."""
    for _ in range(3):
        step()
    start = time.process_time()
    step()
    first = time.process_time() - start
    count = max(1, int(seconds / max(first, 1e-7)))
    taken = []
    for _ in range(rounds if first < slow else 2):
        start = time.process_time()
        for _ in range(count):
            step()
        taken.append((time.process_time() - start) / count)
    return min(taken) * 1e6


class Server:
    """A process of one library, of one thread, that answers questions, each a JSON value on a line."""

    def __init__(self, script: str, library: str) -> None:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "GLOG_v": "3"}
        self.process = subprocess.Popen(
            [sys.executable, script, "--serve", library], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: Any) -> dict[str, Any]:
        """The answer to a question."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError(f"the process ended at {question}")

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


LIBRARIES = ("torch", "mstorch")


def ask_in_turn(servers: Mapping[str, Server], question: Any, rounds: int) -> dict[str, dict[str, Any]]:
    """Ask the libraries' servers in turn; return the answer with the least "time" by library. Raise RuntimeError with the error of one."""
    least: dict[str, dict[str, Any]] = {}
    for library in LIBRARIES * rounds:
        reply = servers[library].ask(question)
        if "error" in reply:
            raise RuntimeError(f"{library}: {reply['error']}")
        if library not in least or reply["time"] < least[library]["time"]:
            least[library] = reply
    return least


def serve(library: str, answer: Callable[[Any, Any], dict[str, Any]]) -> None:
    """Be the process of a ``Server``: print ``answer(torch, question)`` for each question on the standard input."""
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    for line in sys.stdin:
        torch.manual_seed(0)
        try:
            found = answer(torch, json.loads(line))
        except Exception as error:  # noqa: BLE001 - it belongs to the question
            found = {"error": f"{type(error).__name__}: {error}"[:120]}
        print(json.dumps(found), flush=True)


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
