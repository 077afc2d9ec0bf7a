"""A table by operation, worst first: 130 operations in three sizes and up to three dtypes, forward and with backward, beside torch.

    python benchmarks/by_operation.py [--sample 8] [--only TEXT] [--rounds 3] [--markdown FILE]

Each library has one process, of one thread, and the two take turns at each operation. What is compared is the CPU time of a call, the least
of many short rounds, so that other load on the machine matters little. ``--sample 8`` takes one row in eight. Where mstorch takes more than
1.5 times torch's time, the last column says what the time is: for a small operation the number of Python functions that the call runs.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import argparse
import pathlib
import zlib
from collections.abc import Callable, Iterator
from statistics import geometric_mean
from typing import Any, NamedTuple

from _measure import LIBRARIES, Server, ask_in_turn, least_of_rounds, serve
from every_operation import OPERATIONS, SHAPES, SIDES, VALUES

LIMIT = 1.5  # the ratio above which a row has a reason


class Job(NamedTuple):
    """One row of the table."""

    name: str
    size: str
    dtype: str
    backward: bool

    def __str__(self) -> str:
        return f"{self.name}, {self.size}, {self.dtype}, {'with backward' if self.backward else 'forward'}"


def jobs() -> list[Job]:
    """All rows."""
    return [
        Job(name, size, dtype, backward)
        for name, operation in OPERATIONS.items()
        for size in SIDES
        for dtype in operation.dtypes
        for backward in ((False, True) if operation.differentiable and dtype in _DIFFERENTIABLE else (False,))
    ]


_DIFFERENTIABLE = frozenset(("float32", "float64", "bfloat16"))


def _operand(torch: Any, word: str, side: int, dtype: Any) -> Any:
    if word in VALUES:
        return VALUES[word](torch, side)
    shape = SHAPES[word](side)
    values = torch.randn(shape)
    return values.to(dtype) if dtype.is_floating_point else (values * 100).to(torch.int64).abs().to(dtype)


def step_of(torch: Any, job: Job) -> Callable[[], Any]:
    """The call that a row times."""
    operation, side = OPERATIONS[job.name], SIDES[job.size]
    operands = [_operand(torch, word, side, getattr(torch, job.dtype)) for word in operation.operands]
    function = operation.function
    if not job.backward:
        return lambda: function(torch, *operands)
    leaves = [item.requires_grad_() for item in operands if item.dtype.is_floating_point]
    gradient = torch.ones_like(function(torch, *operands))

    def both() -> None:
        function(torch, *operands).backward(gradient)
        for leaf in leaves:
            leaf.grad = None

    return both


def python_calls(step: Callable[[], Any]) -> int:
    """The number of Python functions that a call runs."""
    count = -1  # the step itself

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return count


def answer(torch: Any, question: Any) -> dict[str, Any]:
    """Time the call of a row, and count its Python functions."""
    job = Job(*question)
    step = step_of(torch, job)
    with torch.set_grad_enabled(job.backward):
        return {"time": least_of_rounds(step, 12), "calls": python_calls(step)}


class Row(NamedTuple):
    """A row with its times in microseconds."""

    job: Job
    theirs: float
    ours: float
    calls: int

    @property
    def ratio(self) -> float:
        """mstorch's time over torch's."""
        return self.ours / self.theirs

    @property
    def reason(self) -> str:
        """What takes the time of a row above the limit: Python's calls, or the kernel."""
        if self.ratio <= LIMIT:
            return ""
        excess = self.ours - self.theirs
        if self.calls * _CALL > excess / 2:
            return f"{self.calls} Python calls"
        return f"the kernel, and {self.calls} Python calls"


_CALL = 0.25  # microseconds of a Python function of ours, with the calls of NumPy's in it that do no work


def compare(chosen: list[Job], rounds: int) -> Iterator[Row]:
    """Time the rows in both libraries in turn."""
    servers = {library: Server(__file__, library) for library in LIBRARIES}
    try:
        for job in chosen:
            try:
                least = ask_in_turn(servers, job, rounds)
            except RuntimeError as error:
                print(f"{job}: {error}", file=sys.stderr)
                continue
            yield Row(job, least["torch"]["time"], least["mstorch"]["time"], least["mstorch"]["calls"])
    finally:
        for server in servers.values():
            server.end()


def as_markdown(rows: list[Row]) -> str:
    """The means by size and dtype, and the rows, worst first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for dtype in (row.job.dtype, "all"):
            groups.setdefault((f"{row.job.size}, {'with backward' if row.job.backward else 'forward'}", dtype), []).append(row)
    lines = ["| group | dtype | rows | geometric mean of mstorch / torch | over 2.5 |", "|---|---|---|---|---|"]
    for (group, dtype), members in groups.items():
        ratios = [row.ratio for row in members]
        lines.append(f"| {group} | {dtype} | {len(members)} | {geometric_mean(ratios):.2f} | {sum(ratio > 2.5 for ratio in ratios)} |")
    lines += ["", "| operation | size | dtype | pass | torch, µs | mstorch, µs | ratio | reason |", "|---|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -row.ratio):
        job = row.job
        lines.append(
            f"| {job.name} | {job.size} | {job.dtype} | {'with backward' if job.backward else 'forward'} | {row.theirs:.3g} | "
            f"{row.ours:.3g} | {row.ratio:.2f} | {row.reason} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=1, help="one row in so many")
    parser.add_argument("--only", default="", help="rows whose name has this text: 'softmax, small, float32'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, answer)
        return
    # Not every so many rows of the list, which would meet the same dtypes and sizes again and again.
    chosen = [job for job in jobs() if options.only in str(job) and zlib.crc32(str(job).encode()) % options.sample == 0]
    rows = list(compare(chosen, options.rounds))
    text = as_markdown(rows)
    print(text)
    if options.markdown is not None:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
