"""torch_npu's package, its operators and scripts that say cuda, on MindSpore's Ascend plugin: the programs of tests/devices that list what differs."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cann.build import environment, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "torch_npu_parts": ("mstorch", "-m"), "contrib_parts": ("mstorch", "-m"), "contrib_regions": ("mstorch", "-m"),
    "fused_operators": (), "torch_npu_operators": (), "scripts_for_cuda": (),
}  # fmt: skip
"""What stands before each program's name in its command."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_differs(name: str) -> None:
    command = [sys.executable, "-m", *PROGRAMS[name], f"tests.devices.{name}"]
    ran = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.splitlines()[-1] == "[]"


def test_products_with_collectives() -> None:
    command = [sys.executable, "-m", "mstorch.distributed.run", "--nproc-per-node", "2", "tests/cann/products.py"]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment(EMULATED_CANN_DEVICES=2), capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0 and ran.stdout.count("agrees") == 2, ran.stdout[-1000:] + ran.stderr[-3000:]
