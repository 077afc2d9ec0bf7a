"""Plain pickles cross between real torch and programs whose ``import torch`` gets mstorch."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import warm
from tests.serialization import plain_pickles_script

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPT = Path(plain_pickles_script.__file__)


def _under_mstorch(*arguments: str) -> str:
    command = ["-m", "mstorch", str(SCRIPT), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return warm.said(*command, environment=environment, seconds=120).strip()


def test_pickles_of_torch_are_read(tmp_path: Path) -> None:
    plain_pickles_script.write(str(tmp_path / "pickles"))
    assert plain_pickles_script.read(str(tmp_path / "pickles")) == []
    assert _under_mstorch("read", str(tmp_path / "pickles")) == ""


def test_torch_reads_ours(tmp_path: Path) -> None:
    """The process has no mstorch: files contain none of its names."""
    path = tmp_path / "pickles"
    _under_mstorch("write", str(path))
    assert b"mstorch" not in path.read_bytes()
    assert plain_pickles_script.read(str(path)) == []
    assert _under_mstorch("read", str(path)) == ""


def test_pickles_without_the_hook_need_nothing_called_torch() -> None:
    script = (
        "import pickle, sys, mstorch; net = mstorch.nn.LSTM(2, 3)\n"
        "again = pickle.loads(pickle.dumps([net, net.weight_hh_l0, mstorch.float16, mstorch.Generator()]))\n"
        "print(again[0].weight_hh_l0 is again[1], again[2] is mstorch.float16, 'torch' in sys.modules)"
    )
    command = ["-c", script]
    shown = warm.said(*command, environment={**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"})
    assert shown.strip() == "True True False"
