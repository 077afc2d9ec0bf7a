"""``python -m mstorch check``: compares the device with the host in subprocesses, and writes a report to send back.

A group of checks runs in one process; if a kernel crashes the process, the group continues after that check in a new one.
"""
from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..._src.backend import runtime, streams
from ..._src.progress import Progress
from ..environment import cann

Item = tuple[str, Callable[[], str]]
"""A name, and a function that returns a description of the difference between device and host; empty if they agree."""

GROUPS = {
    "first": "first",
    "rows": "rows", "layouts": "rows", "sizes": "rows",
    "operations": "programs", "memory": "programs", "attention": "programs", "random": "draws",
    "optimizers": "training", "autocast": "training", "networks": "training",
}  # fmt: skip
"""The module of each group of items."""
WORKER = [sys.executable, "-m", "mstorch", "check"]
"""The command that runs the items of a group."""
SILENCE = 180.0
"""Seconds after which an item counts as hanging."""


def items(group: str) -> list[Item]:
    """Return the items of a group."""
    found: list[Item] = getattr(importlib.import_module(f"{__name__}.{GROUPS[group]}"), group)()
    return found


def _memory() -> dict[str, int]:
    """Return the current and peak bytes that tensors occupy on the device, from MindSpore's pool, and the host's peak."""
    gc.collect()
    told = streams.memory_stats() if runtime.DEVICE_TARGET != "CPU" else {}
    found = {word: int(told.get(f"allocated_bytes.all.{key}", 0)) for word, key in (("allocated", "current"), ("most", "peak"))}
    return {**found, "host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def work(group: str, first: int) -> int:
    """Run the items of a group from an index on, with a line of JSON before and after each, and memory usage at the end."""
    before = _memory()
    found = items(group)
    for place, (name, run) in enumerate(found):
        if place < first:
            continue
        print(json.dumps({"begins": name, "place": place, "of": len(found)}), flush=True)
        began = time.perf_counter()
        try:
            text = run()
        except NotImplementedError as error:
            text = f"absent: {_line(error)}"
        except Exception as error:  # noqa: BLE001 - whatever is raised belongs into the report
            text = f"raises {type(error).__name__}: {_line(error)}"
        print(json.dumps({"item": name, "text": text, "seconds": round(time.perf_counter() - began, 3)}), flush=True)
    print(json.dumps({"done": group, "memory": {"before": before, "after": _memory()}}), flush=True)
    return 0


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:160]


def _lines(command: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a worker's lines as they arrive; the last line says if the worker ended prematurely."""
    # Errors are raised by the call that caused them.
    environment = {**os.environ, "ASCEND_LAUNCH_BLOCKING": "1", "CUDA_LAUNCH_BLOCKING": "1"}
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    shown: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []

    def read() -> None:
        for line in worker.stdout or ():
            shown.put(line)
        shown.put(None)

    readers = [threading.Thread(target=read, daemon=True), threading.Thread(target=lambda: errors.extend(worker.stderr or ()), daemon=True)]
    for reader in readers:
        reader.start()
    while True:
        try:
            line = shown.get(timeout=SILENCE)
        except queue.Empty:
            worker.kill()
            yield {"ended": f"nothing came for {SILENCE:.0f} s"}
            break
        if line is None:
            worker.wait()
            readers[1].join(5)
            last = next((text.strip() for text in reversed(errors) if text.strip()), "")
            yield {"ended": f"the process ended with {worker.returncode}{': ' if last else ''}{last[:160]}"}
            break
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            yield found
            if "done" in found:
                worker.wait()
                break


def results(group: str, progress: Progress | None = None) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the outcome of each item of a group by name: ``text`` ("" if device and host agree) and ``seconds``; and memory usage.

    Memory usage is that of the group's last process before and after its items; empty if it crashed.
    """
    memory: dict[str, Any] = {}
    found: dict[str, dict[str, Any]] = {}
    place, open_item = 0, ""
    while True:
        done = False
        for told in _lines([*WORKER, "--group", group, "--from", str(place)]):
            if "begins" in told:
                open_item, place = told["begins"], told["place"] + 1
                if progress is not None:
                    progress.done, progress.total = place - 1, told["of"]
            elif "item" in told:
                found[told["item"]] = {"text": told["text"], "seconds": told["seconds"]}
                open_item = ""
            elif "ended" in told:
                found[open_item or group] = {"text": told["ended"], "seconds": 0.0}
                done = not open_item  # the item was not even started
                open_item = ""
            else:
                done = True
                memory = told["memory"]
        if done:
            return found, memory


def main(arguments: list[str]) -> int:
    """Print the report and write it as JSON; return 1 if anything differs, raises or crashes."""
    parser = argparse.ArgumentParser(prog="mstorch check", description="Each kernel and common programs of the device beside the host.")
    parser.add_argument("--json", metavar="FILE", default="mstorch-check.json", help="where the report goes that is to be sent back")
    parser.add_argument("--only", metavar="GROUP", action="append", choices=list(GROUPS), help=f"of {', '.join(GROUPS)}; may be repeated")
    parser.add_argument("--group", choices=list(GROUPS), help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.group:
        return work(options.group, options.first)
    known = {**{key: str(value) for key, value in runtime.describe().items()}, "cann": cann() or "not found"}
    for key, value in known.items():
        print(f"{key}: {value}")
    if runtime.FAKE_DEVICE:
        print("the device is a stand-in: the CPU's memory plays it")
    if runtime.DEVICE_TARGET == "CPU":
        print("there is no device: the host is compared with itself")
    report: dict[str, Any] = {"versions": known, "stand-in": runtime.FAKE_DEVICE, "groups": {}, "memory": {}}
    failed = 0
    for group in options.only or GROUPS:
        progress = Progress(f"check {group}")
        try:
            outcomes, memory = results(group, progress)
        finally:
            progress.end()
        report["groups"][group], report["memory"][group] = outcomes, memory
        bad = {name: one["text"] for name, one in outcomes.items() if one["text"] and not one["text"].startswith(("absent", "alone"))}
        other = len([1 for one in outcomes.values() if one["text"]]) - len(bad)
        failed += len(bad)
        if group == "first":  # a minute after the start one knows whether the rest is worth its time
            for name, one in outcomes.items():
                print(f"{name}: {one['text'] or 'right'}, in {one['seconds']:.1f} s", flush=True)
            continue
        equal = len(outcomes) - len(bad) - other
        print(f"{group}: {len(outcomes)} tried, {equal} equal to the host's, {len(bad)} differ or raise, {other} absent or alone")
        for name, text in bad.items():
            print(f"  {name}: {text}")
        if memory:
            before, after = memory["before"], memory["after"]
            words = f"{before['allocated']} bytes before, {after['allocated']} after, {after['most']} at most"
            print(f"  memory: {words}; of the host {after['host']}")
    Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    print(f"{failed} differ or raise; please send {options.json} back")
    return int(failed > 0)
