"""Everything that is timed, beside torch: training, inference, operations, memory, imports, files; four networks beside MindSpore;
eight networks of timm where it is installed.

    python benchmarks/run_all.py [--only TEXT] [--rounds 5] [--threads 1] [--compiled] [--markdown FILE] [--html FILE]

Each library and job runs in a process of its own, in turn; medians and ratios (mstorch / torch) are printed. The machine must be idle.
"""
from __future__ import annotations

import sys

# The folder of this script goes last: random.py in it would stand for the standard library's.
sys.path.append(sys.path.pop(0))

import argparse
import html
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import native
from _measure import in_process, print_table
from halves import HALVES, half
from jobs import PROGRAMS, each_operation, inference, median_of, memory, others, training
from networks import NETWORKS
from operations import SIDES
from thin import THIN, step

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "digits_cnn.py"
THREADS = {"OMP_NUM_THREADS": "1"}  # `--threads`; both libraries and their children read it
NATIVES = ("tuned MindSpore", "untuned MindSpore")
Row = tuple[str, float, float, float]


def _taken(library: str, what: str, name: str) -> dict[str, float]:
    """What a job takes in this process, in milliseconds (memory: MB), by the names of its rows."""
    start = time.perf_counter()
    if library == "mindspore":
        if what != "import":
            return {name: median_of(native.step(name, tuned=what == NATIVES[0]), 2)}
        importlib.import_module(library)
        return {"import": (time.perf_counter() - start) * 1e3}
    torch = importlib.import_module(library)
    if what == "import":
        return {"import": (time.perf_counter() - start) * 1e3}
    if library == "mstorch":
        torch.install()  # for packages that import torch
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if what == "operations":
        return each_operation(torch, name)
    if what == "half":
        return half(torch, name, median_of)
    if what == "other":
        return others(torch)
    if what == "memory":
        return {name: memory(torch, name)}
    if what.startswith("thin"):
        return {name: median_of(step(torch, name, what == "thin-train"), 3)}
    if what == "program":
        return {name: median_of(PROGRAMS[name](torch), 3)}
    kind = training if what.startswith("train") else inference
    return {name: median_of(kind(torch, name, what.endswith("compiled")), 4 if kind is training else 2)}


def _script(library: str) -> dict[str, float]:
    """The digits CNN as a whole run, imports and all."""
    through = ["-m", "mstorch"] if library == "mstorch" else []
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *through, str(EXAMPLE)], env={**os.environ, **THREADS, "GLOG_v": "3"}, stdout=subprocess.DEVNULL, check=True
    )
    return {"run": (time.perf_counter() - start) * 1e3}


def _in_child(library: str, what: str, name: str) -> dict[str, float]:
    task = what.split()[0] if library == "torch" else what  # torch's own compiler is another question
    variables = {**THREADS, **(native.TUNED if what == NATIVES[0] else {})}
    if what != "import":
        return in_process(__file__, ["--child", library, task, name], variables)
    with tempfile.TemporaryDirectory() as folder:  # all from bytecode, as an installed package is
        variables |= {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        return [in_process(__file__, ["--child", library, task, name], variables) for _ in range(2)][1]


def _beside_another(library: str, what: str, name: str) -> dict[str, float]:
    """How many times longer a training step takes while another process keeps a core busy."""
    alone = _in_child(library, "train", name)[name]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            return {name: _in_child(library, "train", name)[name] / alone}
        finally:
            other.kill()


def _jobs(compiled: bool) -> list[tuple[str, str]]:
    whats = ["train", "infer", *(["train compiled", "infer compiled"] if compiled else [])]
    rows = [(what, name) for what in whats for name in NETWORKS]
    rows += [(what, name) for what in ("thin-train", "thin-infer") for name in THIN]
    rows += [(what, name) for what in NATIVES for name in native.NATIVE]
    rows += [("program", name) for name in PROGRAMS] + [("memory", name) for name in NETWORKS]
    rows += [("beside another process", name) for name in ("cnn", "lstm", "gpt")]
    rows += [("operations", size) for size in SIDES] + [("half", name) for name in HALVES]
    return [*rows, ("other", ""), ("script", "examples/digits_cnn.py"), ("import", "torch"), ("import", "mindspore")]


def _compare(what: str, name: str, rounds: int) -> list[Row]:
    """Rows of a job: its name, the time of the other library (torch, or MindSpore where the name says so), ours, and the ratio."""
    against = "mindspore" if what in NATIVES or (what, name) == ("import", "mindspore") else "torch"
    taken: dict[str, dict[str, list[float]]] = {against: {}, "mstorch": {}}
    for _ in range(rounds):
        for library in taken:
            if what == "script":
                found = _script(library)
            elif what == "beside another process":
                found = _beside_another(library, what, name)
            else:
                found = _in_child(library, "train" if what in NATIVES and library == "mstorch" else what, name)
            for job, value in found.items():
                taken[library].setdefault(job, []).append(value)
    rows = []
    for job in taken[against]:
        theirs, ours = (statistics.median(taken[library][job]) for library in taken)
        rows.append((job if what in ("operations", "other", "half") else f"{what} {name}", theirs, ours, ours / theirs))
    return rows


def _mean(rows: list[Row]) -> float:
    return statistics.geometric_mean(row[3] for row in rows)


def summary(rows: list[Row]) -> list[tuple[str, float, float]]:
    """Geometric means of the ratios, and the largest, of each group of rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        words = row[0].split(", ")
        group = ", ".join(words[-2:]) if words[-1] in ("forward", "with backward") else " ".join(row[0].split()[:-1])
        whole = group.split()[:1] in (["train"], ["infer"], ["thin-train"], ["thin-infer"], ["memory"])
        if words[-1] in ("forward", "with backward") or whole or group in NATIVES:
            groups.setdefault(group, []).append(row)
    return [(group, _mean(members), max(row[3] for row in members)) for group, members in groups.items()]


def as_markdown(rows: list[Row]) -> str:
    """The rows and their means as tables."""
    means = "\n".join(f"| {name} | {mean:.2f} | {worst:.1f} |" for name, mean, worst in summary(rows))
    lines = "\n".join(f"| {name} | {theirs:.3g} | {ours:.3g} | {ratio:.2f} |" for name, theirs, ours, ratio in rows)
    return (
        "| group | geometric mean of mstorch / torch | largest |\n|---|---|---|\n" + means
        + "\n\n| job | torch (or MindSpore), ms | mstorch, ms | ratio |\n|---|---|---|---|\n" + lines + "\n"
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
    parser.add_argument("--threads", default="1", help="of each library")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_taken(*options.child)))
        return
    THREADS["OMP_NUM_THREADS"] = options.threads
    rows: list[Row] = []
    for what, name in _jobs(options.compiled):
        if options.only in f"{what} {name}":
            found = _compare(what, name, 1 if what in ("operations", "half") else options.rounds)
            print_table(["job", "other, ms", "mstorch, ms", "ratio"], found)
            rows.extend(found)
    print()
    print_table(["group", "mean", "largest"], summary(rows))
    for path, text in ((options.markdown, as_markdown), (options.html, as_html)):
        if path is not None:
            path.write_text(text(rows))


if __name__ == "__main__":
    main()
