"""Everything that is timed, beside torch: training steps, inference, operations, imports, files, random numbers.

    python benchmarks/run_all.py [--only TEXT] [--rounds 5] [--compiled] [--markdown FILE] [--html FILE]

Each library and job runs in a process of its own, in turn; medians and ratios (mstorch / torch) are printed. The machine must be idle.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import argparse
import html
import importlib
import io
import json
import math
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from _measure import in_process, print_table
from networks import NETWORKS
from operations import SIDES, WITHOUT_GRADIENT, operations

THREADS = {"OMP_NUM_THREADS": "2"}
LIBRARIES = ("torch", "mstorch")
Row = tuple[str, float, float, float]


def _median_ms(step: Callable[[], Any], seconds: float) -> float:
    for _ in range(3):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 400):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def _network(torch: Any, what: str, name: str) -> dict[str, float]:
    model, inputs, target, loss, optimizer = NETWORKS[name](torch)
    run = torch.compile(model) if what.endswith("compiled") else model

    def train() -> float:
        optimizer.zero_grad()
        value = loss(run(*inputs), target)
        value.backward()
        optimizer.step()
        return value.item()

    def infer() -> float:
        with torch.no_grad():
            return float(run(*inputs).reshape(-1)[0])

    if what.startswith("train"):
        return {name: _median_ms(train, 4)}
    model.eval()
    return {name: _median_ms(infer, 2)}


def _operations(torch: Any, size: str) -> dict[str, float]:
    found = {}
    for name, (function, shapes) in operations(torch, SIDES[size]).items():
        plain = [torch.randn(*shape) for shape in shapes]
        with torch.no_grad():
            found[f"{name}, {size}, forward"] = _median_ms(lambda: function(*plain), 0.1)  # noqa: B023
        if name in WITHOUT_GRADIENT:
            continue
        leaves = [tensor.clone().requires_grad_() for tensor in plain]
        gradient = torch.ones_like(function(*leaves))

        def both() -> None:
            function(*leaves).backward(gradient)  # noqa: B023
            for leaf in leaves:  # noqa: B023
                leaf.grad = None

        found[f"{name}, {size}, with backward"] = _median_ms(both, 0.15)
    return found


def _other(torch: Any) -> dict[str, float]:
    dataset = torch.utils.data.TensorDataset(torch.randn(2000, 64), torch.randint(0, 10, (2000,)))
    loader = torch.utils.data.DataLoader(dataset, batch_size=50, shuffle=True)
    state = {f"layer{i}": torch.randn(256, 1024) for i in range(16)}

    def epoch() -> None:
        for _ in loader:
            pass

    def file() -> io.BytesIO:
        buffer = io.BytesIO()
        torch.save(state, buffer)
        buffer.seek(0)
        return buffer

    written = file()

    def load() -> None:
        written.seek(0)
        torch.load(written)

    return {
        "DataLoader, 40 batches of 50": _median_ms(epoch, 1),
        "save 16 MB": _median_ms(file, 1),
        "load 16 MB": _median_ms(load, 1),
        "randn 1,000,000": _median_ms(lambda: torch.randn(1_000_000), 1),
        "randperm 100,000": _median_ms(lambda: torch.randperm(100_000), 1),
        "dropout of 1,000,000": _median_ms(lambda: torch.nn.functional.dropout(torch.ones(1_000_000)), 1),
    }


def _child(library: str, what: str, name: str) -> dict[str, float]:
    start = time.perf_counter()
    torch = importlib.import_module(library)
    if what == "import":
        return {"import": (time.perf_counter() - start) * 1e3}
    torch.manual_seed(0)
    torch.set_num_threads(2)
    if what == "operations":
        return _operations(torch, name)
    return _other(torch) if what == "other" else _network(torch, what, name)


def _jobs(compiled: bool) -> list[tuple[str, str]]:
    whats = ["train", "infer", *(["train compiled", "infer compiled"] if compiled else [])]
    rows = [(what, name) for what in whats for name in NETWORKS]
    return [*rows, *(("operations", size) for size in SIDES), ("other", ""), ("import", "")]


def _compare(what: str, name: str, rounds: int) -> list[Row]:
    taken: dict[str, dict[str, list[float]]] = {library: {} for library in LIBRARIES}
    for _ in range(rounds):
        for library in LIBRARIES:
            task = what.split()[0] if library == "torch" else what  # torch's own compiler is another question
            for job, value in in_process(__file__, ["--child", library, task, name], THREADS).items():
                taken[library].setdefault(job, []).append(value)
    rows = []
    for job in taken["torch"]:
        theirs, ours = (statistics.median(taken[library][job]) for library in LIBRARIES)
        rows.append((f"{what} {job}" if name and what != "operations" else job, theirs, ours, ours / theirs))
    return rows


def _mean(rows: list[Row]) -> float:
    return math.exp(sum(math.log(row[3]) for row in rows) / len(rows))


def summary(rows: list[Row]) -> list[tuple[str, float, float]]:
    """Geometric means of the ratios, and the largest, of each group of rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        words = row[0].split(", ")
        group = ", ".join(words[-2:]) if words[-1] in ("forward", "with backward") else " ".join(row[0].split()[:-1])
        if words[-1] in ("forward", "with backward") or group.split()[:1] in (["train"], ["infer"]):
            groups.setdefault(group, []).append(row)
    return [(group, _mean(members), max(row[3] for row in members)) for group, members in groups.items()]


def as_markdown(rows: list[Row]) -> str:
    """The rows and their means as tables."""
    means = "\n".join(f"| {name} | {mean:.2f} | {worst:.1f} |" for name, mean, worst in summary(rows))
    lines = "\n".join(f"| {name} | {theirs:.3g} | {ours:.3g} | {ratio:.2f} |" for name, theirs, ours, ratio in rows)
    return (
        "| group | geometric mean of mstorch / torch | largest |\n|---|---|---|\n" + means
        + "\n\n| job | torch, ms | mstorch, ms | ratio |\n|---|---|---|---|\n" + lines + "\n"
    )  # fmt: skip


def as_html(rows: list[Row]) -> str:
    """A page with a bar for each ratio; the line stands at torch's own time."""
    bars = "\n".join(
        f"<tr><td>{html.escape(name)}</td><td><div style='background:#48a;width:{min(ratio, 10) * 60:.0f}px'>&nbsp;</div></td>"
        f"<td>{ratio:.2f}</td></tr>"
        for name, _, _, ratio in rows
    )
    line = "<div style='border-left:2px solid #c33;margin-left:60px'>torch</div>"
    return f"<!doctype html><meta charset='utf-8'><title>mstorch / torch</title><table><tr><td></td><td>{line}</td></tr>{bars}</table>\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="jobs whose name has this text: 'train', 'gpt', 'operations small'")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child)))
        return
    rows: list[Row] = []
    for what, name in _jobs(options.compiled):
        if options.only in f"{what} {name}":
            found = _compare(what, name, 1 if what == "operations" else options.rounds)
            print_table(["job", "torch, ms", "mstorch, ms", "ratio"], found)
            rows.extend(found)
    print()
    print_table(["group", "mean", "largest"], summary(rows))
    for path, text in ((options.markdown, as_markdown), (options.html, as_html)):
        if path is not None:
            path.write_text(text(rows))


if __name__ == "__main__":
    main()
