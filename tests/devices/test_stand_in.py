"""Programs on the stand-in device: the CPU's numbers, torch's devices and errors, one transfer a step."""
from __future__ import annotations

import os
import pathlib

import pytest

from tests import warm

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def _run(command: list[str], device: bool, folder: pathlib.Path = ROOT, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend" if device else "", **variables}
    done = warm.done(*command, environment=environment, folder=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("what", ["operations", "models", "programs"])
def test_what_runs_on_the_stand_in(what: str) -> None:
    assert _run(["-m", "tests.devices.stand_in", what], True).strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("what", ["beside", "fused", "guards", "memory", "npu", "one_kernel", "places", "scattered", "together"])
def test_programs_of_the_device(what: str) -> None:
    assert _run(["-m", f"tests.devices.{what}"], True).strip().splitlines()[-1] == "[]"


def test_another_device_than_the_one_in_use_is_refused() -> None:
    """There are 47 ways to name one of eight devices."""
    assert _run(["-m", "tests.devices.indices", "refused"], True, MSTORCH_FAKE_DEVICES="8").strip().splitlines()[-1] == "[]"


def test_what_computes_nothing_leaves_the_choice_of_a_device_open() -> None:
    assert _run(["-m", "tests.devices.indices", "early"], True, MSTORCH_FAKE_DEVICES="8").strip().splitlines()[-1] == "[]"


def test_a_part_of_the_core_tests() -> None:
    """A part of the core tests; ``MSTORCH_FAKE_DEVICE=Ascend pytest tests/core tests/tape`` runs all."""
    rooms = ["tests/core/test_indexing.py", "tests/tape/test_histories.py", "tests/tape/test_slopes.py"]
    assert " failed" not in _run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *rooms], True)


@pytest.mark.long
def test_the_report_of_a_device() -> None:
    report = _run(["-m", "tests.devices.checked"], True)
    assert report.strip().splitlines()[-1] == "[]", report


def test_digits_train_alike() -> None:
    command = ["-m", "mstorch", "digits_mlp.py", "--epochs", "1"]
    assert _run([*command, "--device", "npu"], True, EXAMPLES) == _run(command, False, EXAMPLES)
