"""A plugin for pytest: the tensors of the project's tests are made on MindSpore's Ascend plugin, with CANN emulated below it.

    python -m tests.cann python -m pytest -p tests.cann.suite tests/core

What tests/conftest.py leaves out or expects on a device holds here too; refused.toml lists what else cannot pass, with the reasons.

EMULATED_SUITE_FAILURES names a file that gets a line for each failure; EMULATED_SUITE_SAMPLE=10 runs one in ten of the tests.
"""
from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

import pytest

import mstorch
from mstorch._src.backend import rehearsal, runtime
from tests.cann import cpu_numbers

assert mstorch.npu.is_available() and runtime.DEVICE_TARGET == "Ascend", "no emulated CANN: python -m tests.cann starts a program on it"
os.environ["MSTORCH_FAKE_DEVICE"] = "rehearsal"  # read by tests/conftest.py, after mstorch has been imported without it


cpu_numbers.draw_from(rehearsal.sources)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one in EMULATED_SUITE_SAMPLE of the tests, the same ones in each run."""
    share = int(os.environ.get("EMULATED_SUITE_SAMPLE", "1"))
    left_out = [item for item in items if zlib.crc32(f"sample {item.nodeid}".encode()) % share]
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Let processes that tests start find the plugin; add the reasons of this folder to those of tests/conftest.py."""
    os.environ.pop("MSTORCH_FAKE_DEVICE", None)
    conftest = sys.modules["tests.conftest"]
    conftest.REFUSED.update(conftest.tomllib.loads((Path(__file__).parent / "refused.toml").read_text()))


def pytest_runtest_logreport(report) -> None:
    """Write a failure's first words into a file."""
    path = os.environ.get("EMULATED_SUITE_FAILURES")
    if report.failed and path:
        crash = getattr(report.longrepr, "reprcrash", None)
        with open(path, "a") as file:
            file.write(f"{report.nodeid} [{report.when}] {str(crash.message if crash else report.longrepr)[:400]!r}\n")
