"""The companions' operators on the stand-in device."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_operators_on_the_device_are_the_cpus() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "Ascend"}
    assert warm.said("-m", "tests.companions.on_device", environment=environment, library="mstorch").strip().splitlines()[-1] == "[]"
