"""Run torch's databases of operators, modules and optimizers, and write the results and the kernels that ran (needs torch).

    python -m tools.api_map.calls            # on the CPU and on the stand-in device; writes tools/api_map/calls.json
    python -m tools.api_map.calls -k norm    # of some entries only: print, write nothing

For each entry and each of the two devices: an empty text if all samples gave torch's results and gradients, else what was wrong; the
rows of the kernel table that ran, forward and backward; and the rows that the CPU computed in place of the device.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

PATH = pathlib.Path(__file__).with_name("calls.json")
KINDS = ("ops", "modules", "optimizers")


def entries(text: str) -> list[tuple[str, Callable[[], None]]]:
    """Return the database entries whose name contains a text: for each its kind and name, and the function that checks it."""
    from tests import databases  # late: it imports both libraries

    return [(f"{kind} {name}", check) for kind in KINDS for name, check in databases.items(kind).items() if text in name]


def sweep(text: str, device: str, skip: int) -> Iterator[tuple[str, list[Any]]]:
    """Check each entry on a device after the first ``skip``; yield its name, its error text ("" if it agrees), the kernel rows that ran,
    and those that fell back to the CPU."""
    import mstorch  # late: with the device chosen
    from mstorch._src.backend import table
    from tests import databases

    if device != "cpu":
        mstorch.set_default_device(device)
    rows: set[str] = set()
    fallen: set[str] = set()
    table.on_fallback.append(fallen.add)
    table.tracers.append(lambda op, dtype, where, function: _noted(rows, op, function))
    for name, check in entries(text)[skip:]:
        rows.clear()
        fallen.clear()
        wrong = databases.outcome(check)
        yield name, [wrong, sorted(rows - fallen), sorted(fallen)]


def _noted(rows: set[str], op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        rows.add(op)
        return function(*args)

    return call


def in_a_process(text: str, device: str, fake: str) -> dict[str, list[Any]]:
    """Return the results of ``sweep`` from subprocesses; an entry that kills its process is recorded, and a new process goes on after it.
    """
    listed = [name for name, _ in entries(text)]
    found: dict[str, list[Any]] = {}
    while len(found) < len(listed):
        command = [sys.executable, "-m", "tools.api_map.calls", "--device", device, "--skip", str(len(found)), "-k", text]
        ended = subprocess.run(command, env={**os.environ, "MSTORCH_FAKE_DEVICE": fake}, stdout=subprocess.PIPE, text=True)
        found.update(json.loads(line) for line in ended.stdout.splitlines() if line.startswith("["))
        if ended.returncode:
            name = listed[len(found)]
            print(f"{name} on {device}: the process ended with {ended.returncode}", file=sys.stderr)
            found[name] = [f"the process ended with {ended.returncode}", [], []]
    return found


def main() -> None:
    """Check all entries on the CPU and on the stand-in device, in subprocesses, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-k", default="", help="only entries whose name contains this text; print, write nothing")
    parser.add_argument("--device", choices=("cpu", "npu"), help="print what this process sees on a device, a line of JSON an entry")
    parser.add_argument("--skip", type=int, default=0, help="how many entries to leave out at the start")
    options = parser.parse_args()
    if options.device:
        for seen in sweep(options.k, options.device, options.skip):
            print("\n" + json.dumps(seen), flush=True)
        return
    found = {device: in_a_process(options.k, device, fake) for device, fake in (("cpu", ""), ("npu", "Ascend"))}
    both = {name: {device: of[name] for device, of in found.items()} for name in found["cpu"]}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(both.items()))
    if options.k:
        print(lines)
    else:
        PATH.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
