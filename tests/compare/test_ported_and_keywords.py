"""``python -m mstorch compare`` of a script that ``port --write`` has changed, and of modules that are called by keywords."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os
import sys

import torch
import torch.nn as nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 2)

    def forward(self, x, mask=None):
        if other and sys.argv[1] == "mask inside":
            mask = torch.zeros_like(mask)
        return self.head(self.attention(x, x, x, key_padding_mask=mask)[0])


other = "mstorch" in os.path.basename(os.path.dirname(torch.__file__))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(2):
    x, mask = torch.randn(2, 3, 8), torch.zeros(2, 3, dtype=torch.bool)
    mask[:, -1] = True
    if other and sys.argv[1] == "data":
        x = x + 1
    if other and sys.argv[1] == "mask":
        mask[:, 1] = True
    loss = F.mse_loss(net(x=x, mask=mask), torch.zeros(2, 3, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _said(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    run = subprocess.run([sys.executable, "-m", "mstorch", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return run.stdout


@pytest.mark.parametrize("fault", ["data", "mask"])
def test_keyword_arguments_are_given_to_a_module(tmp_path: Path, fault: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    assert "what the script gives to Net differs" in _said(tmp_path, "compare", "--steps", "1", "script.py", fault)


def test_a_wrong_mask_is_no_fault_of_the_attention(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    said = _said(tmp_path, "compare", "--steps", "1", "script.py", "mask inside")
    assert "first        Net, forward, step 0" in said, said


def test_a_ported_script_runs_under_torch_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    _said(tmp_path, "port", "script.py", "--write")
    assert "import mstorch as torch" in (tmp_path / "script.py").read_text()
    said = _said(tmp_path, "compare", "--steps", "2", "script.py", "nothing")
    assert said.startswith("torch 2.") and "all modules, gradients and steps agree" in said, said
    assert "what the script gives to Net differs" in _said(tmp_path, "compare", "--steps", "1", "script.py", "data")
