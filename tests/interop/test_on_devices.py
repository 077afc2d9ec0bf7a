"""MindSpore trains modules with parameters on a device as it trains modules on the CPU."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import warm

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("device_script.py")


def _numbers(device: str, **variables: str) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parents[2]), "GLOG_v": "3"} | variables
    run = warm.done(str(SCRIPT), device, environment=environment)
    assert not run.returncode, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_numbers_are_those_of_the_cpu(device: str) -> None:
    want, got = _numbers("cpu"), _numbers(device, MSTORCH_FAKE_DEVICE="Ascend")
    assert want.pop("devices") == ["cpu"] and got.pop("devices") == [device]
    for name, values in want.items():
        assert _flat(got[name]) == pytest.approx(_flat(values), rel=1e-5, abs=1e-6), name


@pytest.mark.long
@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_the_guides_steps_with_layers_on_a_device(device: str) -> None:
    """Several steps, because an error in one step (statistics, gradients of layers without a kernel on the stand-in device) appears in the
    next."""
    environment = os.environ | {"GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "Ascend"}
    command = ["-m", "tests.interop.guides_on_device", device]
    run = warm.done(*command, environment=environment, folder=SCRIPT.parents[2])
    assert not run.returncode and ", 0 wrong" in run.stdout, run.stderr


def _flat(value: Any) -> list[float]:
    return [number for item in value for number in _flat(item)] if isinstance(value, list) else [value]
