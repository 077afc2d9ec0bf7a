"""A sample of ``python -m tests.notebooks``: a notebook's cells are interrupted, and continue with the same numbers."""
from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_cell_that_is_interrupted_is_gone_on_with() -> None:
    pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    done = subprocess.run([sys.executable, "-m", "tests.notebooks", "9"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and "9 of 9 cells" in done.stdout, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
