"""A plugin for pytest: the tensors of the project's tests are made on MindSpore's Ascend plugin, with CANN emulated below it.

    python -m tests.cann python -m pytest -p tests.cann.suite tests/core

What tests/conftest.py leaves out or expects on a device holds here too; refused.toml lists what else cannot pass, with the reasons.

EMULATED_SUITE_FAILURES names a file that gets a line for each failure; EMULATED_SUITE_SAMPLE=10 runs one in ten of the tests, and
EMULATED_SUITE_SAMPLE=10:3 another one in ten (10:0 to 10:9 are all of them).
"""
from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from typing import Any

import pytest

os.environ.pop("MSTORCH_FAKE_DEVICE", None)  # which the process that started this worker has set below

import mstorch
from mstorch._src.backend import runtime, table
from tests.cann import cpu_numbers

assert mstorch.npu.is_available() and runtime.DEVICE_TARGET == "Ascend", "no emulated CANN: python -m tests.cann starts a program on it"
os.environ["MSTORCH_FAKE_DEVICE"] = "plugin"  # read by tests/conftest.py, after mstorch has been imported without it
LENT = ("ctc_loss",)
"""Operations of the CPU's tensors that MindSpore's kernels compute even here, on the device, because there is no other kernel."""


def _refused(op: str, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel of MindSpore's for host memory that raises: where MindSpore has an Ascend, it would compute there."""

    def refuse(*args: Any) -> Any:
        raise AssertionError(f"{op} of {name} on the CPU is MindSpore's, which computes on the Ascend")

    return kernel if op in LENT else refuse


cpu_numbers.draw_from_sources()
table.lenders.append(_refused)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one in EMULATED_SUITE_SAMPLE of the tests, the same ones in each run: those whose turn stands behind its colon."""
    share, _, turn = os.environ.get("EMULATED_SUITE_SAMPLE", "1").partition(":")
    if int(turn or 0) >= int(share):
        raise pytest.UsageError(f"EMULATED_SUITE_SAMPLE={share}:{turn}: turns are 0 to {int(share) - 1}")
    left_out = [item for item in items if zlib.crc32(f"sample {item.nodeid}".encode()) % int(share) != int(turn or 0)]
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Let processes that tests start find the plugin; add the reasons of this folder to those of tests/conftest.py."""
    os.environ.pop("MSTORCH_FAKE_DEVICE", None)
    sys.modules["tests.conftest"].read_reasons("cann/refused.toml")


def pytest_runtest_logreport(report) -> None:
    """Write a failure's first words into a file."""
    path = os.environ.get("EMULATED_SUITE_FAILURES")
    if report.failed and path:
        crash = getattr(report.longrepr, "reprcrash", None)
        with open(path, "a") as file:
            file.write(f"{report.nodeid} [{report.when}] {str(crash.message if crash else report.longrepr)[:400]!r}\n")
