"""Runs a package's suite on torch and on mstorch in worker processes, which are started anew after a crash or a hang.

The state is in files of JSON lines, ``OUT/NAME/torch.jsonl`` and ``mstorch.jsonl``: what is there already is not run again.
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIXED = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "WANDB_DISABLED": "true", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "GLOG_v": "3",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Suite:
    """A package's suite, and the options with which it runs."""

    name: str
    folder: Path
    """The root of the repository or the sdist; the paths in ``files`` are relative to it."""
    out: Path
    python: str
    """A Python with real torch, mstorch's requirements and pytest."""
    files: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    """Folders of installed packages."""
    sample: int = 0
    """Largest number of tests, which are chosen by a hash of their names; 0: all."""
    variants: int = 0
    """Largest number of parameters of each test; 0: all."""
    limit: float = 20
    """Seconds of processor time for a test."""
    whole: float = 3600
    """Seconds for all tests of a library; the rest is not run."""
    grace: float = 10
    """Seconds that a test may take to end after its limit."""

    def records(self, library: str) -> Path:
        """Return the path of a library's results."""
        return self.out / self.name / f"{library}.jsonl"


def read(records: Path) -> dict[str, dict[str, Any]]:
    """Return the last record of each test, the files that could not be imported under "no import", and the names under "tests"."""
    results: dict[str, dict[str, Any]] = {}
    for line in records.read_text().splitlines() if records.exists() else ():
        with contextlib.suppress(ValueError):  # the last line of a process that was killed
            record = json.loads(line)
            event = record.pop("event")
            if event == "start":
                results[record["test"]] = {"status": "open"}
            elif event == "done":
                results[record.pop("test")] = record
            elif event == "no import":
                results[record.pop("file")] = {"status": "no import", **record}
    return results


def chosen(names: list[str], sample: int, variants: int) -> list[str]:
    """Return a sample of the tests in their order. A test's parameters are the part of its name in brackets; at most ``variants`` of them
    are taken."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition("[")[0], []).append(name)

    def mixed(name: str) -> int:
        return zlib.crc32(name.encode())

    kept = [name for group in groups.values() for name in sorted(group, key=mixed)[: variants or None]]
    kept = sorted(kept, key=mixed)[: sample or None]
    return [name for name in names if name in set(kept)]


def collect(suite: Suite) -> list[str]:
    """Ask pytest on torch which tests there are, once, and choose."""
    target = suite.out / suite.name / "chosen.txt"
    if not target.exists():
        listing = suite.out / suite.name / "listing.jsonl"
        listing.parent.mkdir(parents=True, exist_ok=True)
        listing.write_text("")
        _supervise(suite, "torch", listing, [*suite.files], [], time.monotonic() + 900, listing=True)
        lines = [json.loads(line) for line in listing.read_text().splitlines()]
        names = [name for line in lines if line["event"] == "tests" for name in line["names"]]
        if not names:
            raise SystemExit(f"{suite.name}: pytest found no tests; see {listing.with_suffix('.log')}")
        target.write_text("\n".join(chosen(names, suite.sample, suite.variants)))
    return target.read_text().split("\n")


def run(suite: Suite, library: str, tests: list[str]) -> None:
    """Run the tests that have no result yet."""
    records, deadline = suite.records(library), time.monotonic() + suite.whole
    idle = 0
    while idle < 2 and time.monotonic() < deadline:
        done = {name: record for name, record in read(records).items() if record["status"] != "open"}  # open: the time was over
        left = [name for name in tests if name not in done]
        if not left:
            return
        ended = _supervise(suite, library, records, sorted({name.partition("::")[0] for name in left}), left, deadline)
        after = read(records)
        for name, record in after.items():
            if record["status"] == "open" and ended != "deadline":
                status = "hang" if ended == "hang" else "crash"
                _append(records, event="done", test=name, status=status, type=ended, message=_last_words(records.with_suffix(".log")))
        if ended == "end":
            break
        idle = 0 if len(read(records)) > len(done) else idle + 1
    if time.monotonic() < deadline:
        done = read(records)
        for name in tests:
            if name not in done:
                why = done.get(name.partition("::")[0], {}).get("message", "not collected")
                _append(records, event="done", test=name, status="absent", type="", message=why)


def forget(suite: Suite, library: str, pattern: str) -> None:
    """Drop the results whose "status: message" matches, so that these tests run again."""
    records = suite.records(library)
    kept = {test: r for test, r in read(records).items() if not re.search(pattern, f"{r['status']}: {r.get('message', '')}")}
    records.write_text("")
    for test, record in kept.items():
        if record["status"] != "no import":
            _append(records, event="done", test=test, **record)


def _append(records: Path, **record: Any) -> None:
    with records.open("a") as sink:
        sink.write(json.dumps(record) + "\n")


def _last_words(log: Path) -> str:
    """Return the last message of a process that died: the fatal error, or the last line of its log."""
    lines = [line.strip() for line in log.read_text(errors="replace")[-8000:].splitlines() if line.strip()]
    fatal = [line for line in lines if re.search(r"Fatal Python error|terminate called|what\(\):|Segmentation|Aborted", line)]
    return (fatal or lines or [""])[-1][:300]


def _environment(suite: Suite) -> dict[str, str]:
    """Return the environment variables of the worker. Both libraries run with the same import path: the suite's own folder first, then the
    packages, mstorch last."""
    path = os.pathsep.join([str(suite.folder), *suite.path, str(ROOT)])
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MSTORCH_", "PYTEST_"))}
    return {**inherited, **FIXED, "PYTHONPATH": path}


def _supervise(
    suite: Suite, library: str, records: Path, files: list[str], only: list[str], deadline: float, *, listing: bool = False
) -> str:
    """Run a worker over the files; if it hangs, kill it and its child processes. Return how it ended."""
    command = [suite.python, str(HERE / "worker.py"), library, str(suite.folder), str(records.resolve()), *files]
    command += ["--limit", str(suite.limit)]
    if listing:
        command.append("--list")
    else:
        wanted = records.with_suffix(".only")
        wanted.write_text("\n".join(only))
        command += ["--only", str(wanted.resolve())]
    records.parent.mkdir(parents=True, exist_ok=True)
    records.touch()
    with records.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=suite.folder, env=_environment(suite), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    size, changed = -1, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(0.1)
            now, seen = time.monotonic(), records.stat().st_size
            if seen != size:
                size, changed = seen, now
            # Collecting writes nothing; a test that its alarm did not end is beyond help.
            if now - changed > 3 * suite.limit + suite.grace and _has_started(records):
                return "hang"
            if now > deadline:
                return "deadline"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    last = records.read_text().rstrip().rpartition("\n")[2]
    return "end" if '"event": "end"' in last else f"exit {process.returncode}"


def _has_started(records: Path) -> bool:
    """Return whether a test has started and not ended."""
    return '"event": "start"' in records.read_text().rstrip().rpartition("\n")[2]
