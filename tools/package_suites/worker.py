"""A process, started by ``runner``, that runs a package's tests by pytest and appends the outcome of each to a file of JSON lines.

    worker.py LIBRARY FOLDER RECORDS --limit SECONDS [--list] [--only FILE] FILES…

It imports nothing of mstorch when it runs torch. A line is written before and after each test, so that the
file shows in which test the process died.
"""
from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import signal
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

PHASES = ("setup", "call", "teardown")


class Late(BaseException):
    """Raised in a test that exceeds its time limit. It is no Exception, so that ``except Exception`` in a package does not catch it."""


def told(error: BaseException) -> dict[str, str]:
    """Return an error's type, the beginning of its message, and the innermost lines of the library and of the tests."""
    try:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    except Exception:  # noqa: BLE001  # a package's own errors may not even have a text
        lines = ["(no text)"]
    frames = traceback.extract_tb(error.__traceback__)
    library = [frame for frame in frames if "/mstorch/" in frame.filename or "site-packages/torch/" in frame.filename]
    tests = [frame for frame in frames if "/test" in frame.filename and "site-packages" not in frame.filename]

    def place(found: list[traceback.FrameSummary], text: bool) -> str:
        if not found:
            return ""
        last = found[-1]
        return f"{'/'.join(last.filename.split('/')[-3:])}:{last.lineno} {last.line if text else last.name}"

    return {"type": type(error).__name__, "message": " ".join(lines[:3])[:500], "frame": place(library, False), "line": place(tests, True)}


class Recorder:
    """A pytest plugin that selects tests, limits the time of each and writes its outcome."""

    def __init__(self, records: Path, limit: float, only: frozenset[str] | None, listing: bool) -> None:
        self.sink = records.open("a", buffering=1)
        self.limit, self.only, self.listing = limit, only, listing
        self.outcome: dict[str, Any] = {}

    def write(self, event: str, **fields: Any) -> None:
        """Append a JSON line for an event."""
        self.sink.write(json.dumps({"event": event, **fields}) + "\n")

    def pytest_collectreport(self, report: Any) -> None:
        """Record a file that cannot be imported."""
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")] or str(report.longrepr).splitlines()
            self.write("no import", file=report.nodeid, message=" ".join(lines[-2:])[:500])

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Keep only the requested tests, each once; or list all tests and keep none."""
        if self.listing:
            self.write("tests", names=list(dict.fromkeys(item.nodeid for item in items)))
            items[:] = []
        elif self.only is not None:
            items[:] = list({item.nodeid: item for item in items if item.nodeid in self.only}.values())

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Context manager that raises Late after ``limit`` seconds of processor time, or after three times as long by the clock."""

        def late(number: int, frame: FrameType | None) -> None:
            raise Late(f"longer than {self.limit:g} s")

        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, late)
        signal.setitimer(signal.ITIMER_REAL, 3 * self.limit)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> Iterator[None]:
        """Run the setup within the time limit."""
        with self._limited():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Run the test within the time limit."""
        with self._limited():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> Iterator[None]:
        """Run the teardown within the time limit."""
        with self._limited():
            return (yield)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Record that a test starts."""
        self.outcome = {"status": "pass"}
        self.write("start", test=nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[Any]:
        """Record the first failure: in the fixtures, in the test or in the teardown."""
        report = yield
        self.outcome[f"{report.when} s"] = round(call.duration, 2)
        if self.outcome["status"] == "pass":
            if report.skipped:
                self.outcome |= {"status": "skip", "message": str(call.excinfo.value if call.excinfo else "")[:200]}
            elif report.failed:
                late = call.excinfo is not None and isinstance(call.excinfo.value, Late)
                said = told(call.excinfo.value) if call.excinfo is not None else {"type": "", "message": str(report.longrepr)[:200]}
                self.outcome |= {"status": "late" if late else "fail", "phase": report.when, **said}
        return report

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Record the outcome of a test."""
        self.write("done", test=nodeid, **self.outcome)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Record that all tests have run."""
        if int(exitstatus) in (0, 1, 5):
            self.write("end")


def _give(library: str) -> None:
    """Make ``import torch`` import the given library, here and in processes that tests start."""
    if library == "mstorch":
        from mstorch._src import hook as _hook

        _hook.install()
    import torch

    if hasattr(torch.version, "mstorch") != (library == "mstorch"):
        raise SystemExit(f"torch is {torch.__file__}")
    torch.set_num_threads(1)
    if library == "torch":
        # torchvision's compiled part belongs to one build of torch; without it the package is imported once these have a schema.
        _kept.append(torch.library.Library("torchvision", "FRAGMENT"))
        for name in ("nms", "qnms"):
            with contextlib.suppress(RuntimeError):
                _kept[0].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        # torchaudio asks for its compiled part without ``try``, and mstorch runs without one too.
        stub = sys.modules["torchaudio._extension"] = types.ModuleType("torchaudio._extension")
        stub.__dict__.update(_IS_TORCHAUDIO_EXT_AVAILABLE=False, _IS_ALIGN_AVAILABLE=False, fail_if_no_align=lambda function: function)


_kept: list[Any] = []


def main() -> None:
    """Run the tests named on the command line."""
    parser = argparse.ArgumentParser()
    for name in ("library", "folder", "records"):
        parser.add_argument(name)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    faulthandler.enable()
    sys.path.remove(str(Path(__file__).resolve().parent))
    sys.argv = ["pytest"]
    _give(options.library)
    only = frozenset(Path(options.only).read_text().split("\n")) if options.only else None
    recorder = Recorder(Path(options.records), options.limit, only, options.list)
    arguments = ["-q", "--tb=short", "--rootdir", options.folder, "-o", "addopts=", "--continue-on-collection-errors"]
    arguments += [f"-pno:{plugin}" for plugin in ("cacheprovider", "faulthandler", "timeout")]
    code = pytest.main([*arguments, *options.files], plugins=[recorder])
    sys.stdout.flush()
    os._exit(int(code))  # threads and atexit functions that tests left are nobody's business


if __name__ == "__main__":
    main()
