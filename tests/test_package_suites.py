"""The runner of packages' own test suites, on a planted suite: it counts passes, and survives a crash and a hang."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.package_suites import report
from tools.package_suites.runner import Suite, chosen, collect, forget, read, run

pytestmark = pytest.mark.slow

SUITE = '''
import os, signal, time
import pytest, torch

OURS = hasattr(torch.version, "mstorch")

def test_passes():
    assert torch.ones(2).sum() == 2

def test_fails_alone():
    assert not OURS, "a difference of 3.5"

def test_fails_on_both():
    raise ConnectionError("no way out")

def test_skipped():
    pytest.skip("not today")

def test_crashes():
    if OURS:
        os.kill(os.getpid(), signal.SIGSEGV)

def test_loops():
    while OURS:
        pass

def test_hangs():
    if OURS:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGPROF})
        time.sleep(600)

@pytest.mark.parametrize("number", range(8))
def test_numbers(number):
    assert torch.tensor(number).item() == number
'''
LOST = '''
import torch

if hasattr(torch.version, "mstorch"):
    from torch.nowhere import thing

def test_lost():
    pass
'''


@pytest.mark.long
def test_a_planted_suite(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_planted.py").write_text(SUITE)
    (folder / "tests" / "test_lost.py").write_text(LOST)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--nothing-that-is-there'\n")
    suite = Suite("planted", folder, tmp_path / "out", sys.executable, ("tests",), variants=3, limit=1, grace=1)
    tests = collect(suite)
    assert len(tests) == 11 and sum("test_numbers" in name for name in tests) == 3
    run(suite, "torch", tests)
    reference = read(suite.records("torch"))
    passing = [name for name in tests if reference[name]["status"] == "pass"]
    assert {name.partition("::")[2] for name in tests} - {name.partition("::")[2] for name in passing} == {"test_fails_on_both", "test_skipped"}
    run(suite, "mstorch", passing)
    found = {name.partition("::")[2]: record["status"] for name, record in read(suite.records("mstorch")).items() if "::" in name}
    assert {name: status for name, status in found.items() if status != "pass"} == {
        "test_fails_alone": "fail", "test_crashes": "crash", "test_loops": "late", "test_hangs": "hang", "test_lost": "absent",
    }  # fmt: skip
    row = report.row(tmp_path / "out" / "planted")
    assert (row.taken, row.reference, row.run, row.passed) == (11, 9, 9, 4)
    assert row.outside == {"network": 1, "skipped by the suite": 1}
    assert "AssertionError: a difference of # assert not True" in row.causes and "missing module: torch.nowhere" in row.causes
    assert "| planted | 11 | 9 | 4 of 9 | 44.4 % |" in report.table([row]) and "test_crashes" in report.details([row], 1)
    forget(suite, "mstorch", "fail: .*difference")
    assert len(read(suite.records("mstorch"))) == 8


def test_samples_are_stable_and_ordered() -> None:
    names = [f"test_a.py::test_{i // 10}[{i}]" for i in range(200)]
    once = chosen(names, 30, 4)
    assert once == chosen(names, 30, 4) and len(once) == 30 and sorted(once, key=names.index) == once
    assert set(once) <= set(chosen(names, 0, 4)) and len(chosen(names, 0, 4)) == 80 and chosen(names, 0, 0) == names
