"""MindSpore's own CUDA plugin, over an emulated CUDA runtime: programs run, and without a GPU torch answers as without one."""
from __future__ import annotations

import subprocess
import sys

import pytest

from .build import HERE, environment, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]


def _run(*command: str, **variables: object) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=HERE.parent.parent, env=environment(**variables), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_programs_run() -> None:
    assert "0 failed" in _run("-W", "ignore", "-m", "tests.cuda.programs", CUDA_LAUNCH_BLOCKING=1)


def test_no_row_raises(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mstorch", "check", "--only", "rows", "--json", str(tmp_path / "check.json")], cwd=HERE.parent.parent,
        env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("  ") and "other values" not in line and "memory:" not in line]
    assert "rows: " in done.stdout, done.stdout + done.stderr
    # The emulated cuDNN computes nothing, and tells no shapes; what a row raised would stand here.
    assert [line for line in lines if "other shapes" not in line] == []


def test_a_plugin_without_a_gpu() -> None:
    script = (
        "import mstorch as torch; x = torch.ones(2) + 1; assert x.tolist() == [2, 2]\n"
        "assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and torch.get_default_device().type == 'cpu'\n"
        "try: torch.ones(1, device='cuda')\n"
        "except AssertionError as error: print(error)"
    )
    assert "Torch not compiled with CUDA enabled" in _run("-c", script, EMULATED_CUDA_DEVICES=0)


def test_operators_raise_what_torch_raises() -> None:
    said = _run("-W", "ignore", "-m", "tests.cuda.operators", "--kinds", "float32", "bfloat16", "--samples", "1")
    assert " 0 with faults" in said, said


def test_views_and_writes_send_no_tables() -> None:
    said = _run("-W", "ignore", "-m", "tests.cuda.sent", CUDA_LAUNCH_BLOCKING=1)
    assert "0 send too much" in said, said


def test_uses_of_public_code_answer() -> None:
    said = _run("-W", "ignore", "-m", "tests.cuda.attributes")
    assert " 0 without an answer" in said, said
