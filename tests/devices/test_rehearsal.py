"""Branches for a real device, in a process whose MindSpore reports an Ascend device, one of eight."""
from __future__ import annotations

import json
import os
import pathlib

import pytest

from tests import warm

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]


def _run(command: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "rehearsal"}
    return warm.said(*command, environment=environment).strip().splitlines()[-1]


@pytest.mark.parametrize("what", ["", "lost"])
def test_what_only_a_real_device_does(what: str) -> None:
    assert _run(["-m", "tests.devices.rehearsed", *what.split()]) == "[]"


@pytest.mark.parametrize(
    "what", ["beside", "fused", "guards", "memory", "one_kernel", "together", "stand_in operations", "indices refused", "indices early"]
)
def test_programs_of_the_device(what: str) -> None:
    """Run the programs of the stand-in. A CPU kernel of MindSpore raises here, because on an Ascend it would run on the device."""
    assert _run(["-m", *f"tests.devices.{what}".split()]) == "[]"


def test_movements_and_writes_are_the_hosts() -> None:
    for what in ("moves", "writes"):
        costs = json.loads(_run(["-m", "tests.devices.cost", what]))
        assert not [name for name, cost in costs.items() if cost["wrong"]]
