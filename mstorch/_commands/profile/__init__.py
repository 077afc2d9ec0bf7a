"""``python -m mstorch profile``: reports a script's time by line, module, operation and kernel, with advice.

    python -m mstorch profile train.py --epochs 1
    python -m mstorch profile --trace trace.json --rows 20 train.py     # a trace for chrome://tracing or https://ui.perfetto.dev

The time is measured from the first operation to the end of the script. The exit status is the script's.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..debug.profile import VARIABLE
from .advice import advice

_KINDS = (("module alone", "module, without those below it"), ("operation", "operation"), ("gradient", "gradient of"),
          ("step", "optimizer"), ("kernel", "kernel"))  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run a script in a subprocess, and print the report of its time."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m mstorch profile", description=__doc__, formatter_class=layout)
    parser.add_argument("--rows", type=int, default=8, help="rows of each table (8)")
    parser.add_argument("--trace", metavar="FILE", help="write a trace of all that was timed")
    parser.add_argument("--json", metavar="FILE", help="write the tables as JSON")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not Path(options.script).is_file():
        print(f"profile: {options.script}: no such file", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "profile")
        command = [sys.executable, "-m", "mstorch", options.script, *options.args]
        code = subprocess.run(command, env={**os.environ, VARIABLE: str(out)}, check=False).returncode
        if not out.exists():
            print("profile: the script called no operation of torch", file=sys.stderr)
            return code or 2
        found = json.loads(out.read_text("utf-8"))
    print("\n".join(report(found, options.rows)))
    if options.trace:
        Path(options.trace).write_text(json.dumps(trace(found)), "utf-8")
    if options.json:
        Path(options.json).write_text(json.dumps({key: found[key] for key in ("wall", "lines", "memory", "sums")}, indent=1), "utf-8")
    return code


def parts(found: dict[str, Any]) -> dict[str, float]:
    """Split the wall time into operations, gradients, steps, garbage collection, and Python in between."""
    kinds = ("operation", "gradient", "step", "garbage")
    named = {kind: sum(total for total, _ in found["sums"].get(kind, {}).values()) for kind in kinds}
    return {**named, "between": max(0.0, found["wall"] - sum(named.values()))}


def report(found: dict[str, Any], rows: int) -> list[str]:
    """Return the tables and the advice as text."""
    wall = max(found["wall"], 1e-9)
    share = parts(found)
    lines = [
        f"{wall:.3f} s from the first operation on: {share['operation']:.3f} operations, {share['gradient']:.3f} gradients, "
        f"{share['step']:.3f} optimizer steps, {share['garbage']:.3f} garbage collection, {share['between']:.3f} Python in between; "
        f"{found['memory'] / 2**20:.0f} MiB at most"
    ]
    counts = {name: int(number) for name, (_, number) in found["sums"].get("count", {}).items()}
    if counts:
        lines.append(", ".join(f"{number} {name}" for name, number in counts.items()))
    for kind, title in _KINDS:
        sums = found["sums"].get(kind, {})
        if sums:
            lines += ["", f"{'seconds':>9} {'%':>5} {'calls':>7}  {title}"]
            for name, (total, calls) in sorted(sums.items(), key=lambda item: -item[1][0])[:rows]:
                lines.append(f"{total:9.3f} {100 * total / wall:5.1f} {int(calls):7}  {name}")
    return [*lines, "", "the costliest lines:", *advice(found)]


def trace(found: dict[str, Any]) -> dict[str, Any]:
    """Return the events in Chrome's trace format."""
    events = [
        {"name": name, "cat": kind, "ph": "X", "pid": 1, "tid": 1, "ts": begin * 1e6, "dur": (end - begin) * 1e6, "args": {"line": place}}
        for kind, name, begin, end, place in found["events"]
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}
