"""``python -m mstorch compare``: runs a script under real torch and under mstorch, and reports the first module, gradient or step that
differs.

    python -m mstorch compare train.py --epochs 1                            # real torch in the same environment
    python -m mstorch compare --torch-python /venv/bin/python train.py       # or in another one
    python -m mstorch compare --device npu train.py --device {device}        # the device against the CPU, without torch

Both runs start from one seed and stop after --steps optimizer steps. With --device, {device} in the script's arguments is "cpu" in one run
and the device in the other; without it, the device is the default device of the second run. The findings are printed, and written as a page
with the loss curves and the deviation of each layer. The exit status is 0 if all agrees, 1 if something differs, 2 if a run failed.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..._src.progress import Progress, on_terminal
from . import page
from .align import Alignment, Found

_SEARCHED = 10  # the steps in which an operation is searched for: each takes several times the time of a plain one
_RECORDER = str(Path(__file__).with_name("record.py"))


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m mstorch compare", description=__doc__, formatter_class=layout)
    parser.add_argument("--torch-python", metavar="EXE", default=sys.executable, help="a Python that has real torch (this one)")
    parser.add_argument("--checkpoint", metavar="FILE", help="weights for the model whose names they have, before its first call")
    parser.add_argument("--device", metavar="NAME", help="hold this device against the CPU, both with mstorch")
    parser.add_argument("--steps", type=int, default=50, help="optimizer steps to compare (50)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of both runs (0)")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of a layer's largest element (1e-4)")
    parser.add_argument("--no-operation", action="store_true", help="name the module, and do not search it for the operation")
    parser.add_argument("--html", metavar="FILE", default="mstorch-compare.html", help="where to write the page")
    parser.add_argument("--png", metavar="FILE", help="where to write its picture, with matplotlib")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    return parser


def main(arguments: list[str]) -> int:
    """Run a script twice, compare, report, and return the exit status."""
    options = _parser().parse_args(arguments)
    if not Path(options.script).is_file():
        print(f"compare: {options.script}: no such file", file=sys.stderr)
        return 2
    names = ("the CPU", options.device) if options.device else ("torch", "mstorch")
    records = []
    for second in (False, True):
        if on_terminal():
            print(f"mstorch: the run under {names[second]} …", file=sys.stderr)
        record = _run(options, second)
        if record is None:
            print(f"compare: the run under {names[second]} wrote nothing", file=sys.stderr)
            return 2
        records.append(record)
    ended = not any(record["error"] for record in records)
    alignment = Alignment(records[0]["events"], records[1]["events"], options.tolerance, names, ended)
    below = ""
    if alignment.found is not None and alignment.found.phase != "step" and not (options.device or options.no_operation):
        progress = Progress("looking for the operation below")
        try:
            below = _operation(options, min(options.steps, alignment.found.step + 1, _SEARCHED))
        finally:
            progress.end()
    lines = report(alignment, records, names, below)
    print("\n".join(lines))
    Path(options.html).write_text(page.page(alignment, lines, names), "utf-8")
    print(f"written: {options.html}")
    if options.png:
        print(f"written: {options.png}" if page.picture(alignment, names, options.png) else "no picture: matplotlib is not installed")
    return 1 if alignment.found is not None else 0 if ended else 2


def _environment(second: bool, options: Any) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("MSTORCH_HOOK", "MSTORCH_DEBUG")}
    if options.device:
        environment["MSTORCH_DEVICE_RANDOM"] = "host"  # the device draws the CPU's numbers
    elif not second:
        environment.pop("MSTORCH_FAKE_DEVICE", None)
    return environment


def _run(options: Any, second: bool) -> dict[str, Any] | None:
    """Run the script once and return its record."""
    ours = second or options.device
    place = options.device if second else "cpu"
    asks = any("{device}" in argument for argument in options.args)
    settings = {"seed": options.seed, "steps": options.steps, "checkpoint": options.checkpoint,
                "device": place if options.device and second else None, "default": not asks}  # fmt: skip
    arguments = [argument.replace("{device}", str(place)) for argument in options.args] if options.device else options.args
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "record"))
        start = [sys.executable, "-m", "mstorch"] if ours else [options.torch_python]
        environment = _environment(second, options)
        subprocess.run([*start, _RECORDER, out, json.dumps(settings), options.script, *arguments], env=environment, check=False)
        if not Path(out).exists():
            return None
        return pickle.loads(Path(out).read_bytes())


def _operation(options: Any, steps: int) -> str:
    """Return what a separate run with ``MSTORCH_DEBUG=compare`` says of the operations of the first steps: the first that differs from
    torch's, that none does, or why the run ended before."""
    environment = {**_environment(True, options), "MSTORCH_DEBUG": "compare", "MSTORCH_DEBUG_PYTHON": options.torch_python}
    settings = {"seed": options.seed, "steps": steps, "checkpoint": options.checkpoint}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "record")
        start = [sys.executable, "-m", "mstorch", _RECORDER, str(out), json.dumps(settings)]
        told = subprocess.run([*start, options.script, *options.args], env=environment, check=False, capture_output=True, text=True).stderr
        record: dict[str, Any] = pickle.loads(out.read_bytes()) if out.exists() else {"error": "no record", "events": []}
    at = told.find("DifferenceError: ")
    if at >= 0:
        return told[at + len("DifferenceError: ") :].strip()
    if record["error"]:
        return f"not known: the search for it ended with {record['error']}"
    done = len({event["step"] for event in record["events"] if event["kind"] == "forward"})
    looked = f"in the first {done} steps each" if done > 1 else "each"
    return f"{looked} gives what torch gives: look at the module's code, settings and arguments"


def report(alignment: Alignment, records: list[dict[str, Any]], names: tuple[str, str], below: str) -> list[str]:
    """Return the lines to print."""
    lines = [f"{names[0]} {records[0]['version']} beside {names[1]} {records[1]['version']}: {_extent(alignment)}"]
    for name, record in zip(names, records):
        if record["error"]:
            lines.append(f"  under {name} the script ended with {record['error']}")
    found = alignment.found
    if found is None:
        lines.append("  all modules, gradients and steps agree" if alignment.steps or alignment.calls else "  nothing to compare")
    else:
        lines += _difference_lines(found)
        if below:
            lines.append("  operation    " + below.replace("\n", "\n               "))
    ends = [losses[-1] for losses in alignment.losses if losses]
    if len(ends) == 2:
        lines.append(f"  last loss    {ends[0]:.6g} and {ends[1]:.6g}")
    return lines


def _extent(alignment: Alignment) -> str:
    """Return what was compared: "8 steps and 2 calls of modules after them"."""
    if not alignment.steps:
        return f"no step of an optimizer, {alignment.calls} calls of modules"
    steps = "1 step" if alignment.steps == 1 else f"{alignment.steps} steps"
    return steps if not alignment.calls else f"{steps} and {alignment.calls} calls of modules after them"


def _difference_lines(found: Found) -> list[str]:
    apart = "other values, or another form" if math.isinf(found.deviation) else f"{found.deviation:.2g} of the largest element"
    return [
        f"  first        {found.where}, {found.phase}, step {found.step}",
        f"  what         {found.what}",
        f"  deviation    {apart}; of what went in {found.inputs:.2g}",
    ]
