"""Costs on the stand-in device as a fixture."""
from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from tests import warm

ROOT = pathlib.Path(__file__).parents[2]


@lru_cache(None)
def _measured(what: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend"}
    done = warm.done("-m", "tests.devices.cost", what, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture
def device_cost() -> Callable[[str], dict[str, Any]]:
    """Return the cost of each program in a group of tests/devices/cost.py: kernels, casts, copies, bytes and reads, by name."""
    return _measured
