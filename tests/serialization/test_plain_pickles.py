"""Plain pickles cross from real torch to programs whose ``import torch`` gets mstorch."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.serialization import plain_pickles_script

ROOT = Path(__file__).parents[2]
SCRIPT = Path(plain_pickles_script.__file__)


def _under_mstorch(*arguments: str) -> str:
    command = [sys.executable, "-m", "mstorch", str(SCRIPT), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=120).stdout.strip()


def test_pickles_of_torch_are_read(tmp_path: Path) -> None:
    plain_pickles_script.write(str(tmp_path / "pickles"))
    assert plain_pickles_script.read(str(tmp_path / "pickles")) == []
    assert _under_mstorch("read", str(tmp_path / "pickles")) == ""
