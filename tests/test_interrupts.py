"""A sample of ``python -m tests.interrupts``: an interrupt leaves modes, hooks, locks and files as they were."""
from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_interrupts_leave_everything_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.interrupts", "600"], capture_output=True, text=True, check=False, timeout=600)
    came = int(done.stdout.splitlines()[-1].split()[0])  # a few are lost in CPython's own callbacks
    assert done.returncode == 0 and 570 <= came <= 600 and " interrupts, 0 faults" in done.stdout, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
