"""``@on_plugin`` runs a test in a process in which MindSpore's own Ascend plugin computes, with CANN emulated below it.

    @on_plugin
    def test_sum():
        assert torch.ones(3, device="npu").sum().item() == 3

The tests of a pytest process share one such process, which is replaced after one that ends it or that asks for ``alone=True`` (a device that
failed stays failed) or for variables of its own. The test file is imported there; its functions may be parametrized, but have no fixtures.
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .build import HERE, environment, missing

SECONDS = 240
"""How long a test may take."""
_INSIDE = "EMULATED_CANN_TESTS"


class _Process:
    """A Python on the plugin, which runs functions that it is told by module, name and arguments."""

    def __init__(self, **changes: object) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="mstorch-plugin-")
        fault = Path(self.folder.name) / "fault"
        changes = {_INSIDE: "1", "EMULATED_CANN_FAULT": fault, "EMULATED_CANN_MEMORY_MB": 4096, **changes}
        self.said = open(Path(self.folder.name) / "said", "w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cann.plugin"], cwd=HERE.parent.parent, env=environment(**changes), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.said,
        )  # fmt: skip

    def run(self, *call: Any) -> str:
        """Return "" if a function passes, else the text of its failure."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(call).encode() + b"\n")
            self.process.stdin.flush()
            ready = select.select([self.process.stdout], [], [], SECONDS)[0]
            line = self.process.stdout.readline() if ready else b""
        except BrokenPipeError:
            ready, line = [True], b""
        if line:
            return json.loads(line)
        self.process.kill()
        return f"the process {'ended with ' + str(self.process.wait()) if ready else f'took more than {SECONDS} s'}:\n{self.text()}"

    def text(self) -> str:
        """Return the end of what the process wrote to stderr."""
        self.said.flush()
        return Path(self.said.name).read_text(errors="replace")[-4000:]

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self.process.poll() is None

    def end(self) -> str:
        """Let the process end by itself. Return "" if it does so in time and cleanly, else what it said."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "nothing within a minute"
        said = self.text()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.said.close()
        self.folder.cleanup()
        return "" if code == 0 else f"the process ended with {code}:\n{said}"


_shared: list[_Process] = []


def _end_shared() -> None:
    while _shared:
        _shared.pop().end()


atexit.register(_end_shared)


def on_plugin(function: Callable[..., None] | None = None, *, alone: bool = False, **changes: object) -> Any:
    """Let a test run on MindSpore's Ascend plugin; with ``alone`` or with environment variables, in a process of its own, which must end
    cleanly afterwards.
    """
    if function is None:
        return functools.partial(on_plugin, alone=alone or bool(changes), **changes)
    if os.environ.get(_INSIDE):
        return function

    @functools.wraps(function)
    def run_there(**arguments: Any) -> None:
        call = function.__module__, function.__qualname__, arguments
        if alone:
            process = _Process(**changes)
            failure = process.run(*call)
            failure = process.end() or failure if not failure else failure + process.end()
        else:
            if not _shared or not _shared[0].is_alive():
                _end_shared()
                _shared.append(_Process())
            failure = _shared[0].run(*call)
        if failure:
            pytest.fail(failure, pytrace=False)

    return pytest.mark.slow(pytest.mark.skipif(bool(missing()), reason=missing())(run_there))


def plant(fault: str) -> None:
    """Let the next operator whose name contains a word fail: ``prepare Exp`` (refused), ``launch Exp``, ``late Exp`` (found out by a wait)."""
    Path(os.environ["EMULATED_CANN_FAULT"]).write_text(fault)


def is_planted() -> bool:
    """Return whether the fault that was planted last has not happened; take it away."""
    path = Path(os.environ["EMULATED_CANN_FAULT"])
    waiting = path.exists()
    path.unlink(missing_ok=True)
    return waiting


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what tests print goes to the log
    for line in sys.stdin:
        module, name, arguments = json.loads(line)
        try:
            function: Any = importlib.import_module(module)
            for part in name.split("."):
                function = getattr(function, part)
            function(**arguments)
            failure = ""
        except pytest.skip.Exception:
            failure = ""
        except BaseException:  # noqa: BLE001 - it is told to the process that asked
            failure = traceback.format_exc()
        answers.write(json.dumps(failure) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
