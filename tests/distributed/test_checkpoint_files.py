"""Conversion of checkpoints of several processes to files of torch.save, and back."""
from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import torch as real_torch

import mstorch
from mstorch.distributed.checkpoint import format_utils
from tests.against_torch import same


def _state(t: Any) -> dict[str, Any]:
    layer = t.nn.Linear(2, 2)
    with t.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    optimizer = t.optim.AdamW(layer.parameters())
    layer(t.ones(1, 2)).sum().backward()
    optimizer.step()
    entries = [t.ones(2), {"a": t.arange(3)}, "text"]
    return {"model": dict(layer.state_dict()), "optimizer": optimizer.state_dict(), "epoch": 3, "list": entries, "half": t.ones(2).bfloat16()}


def _there_and_back(t: Any, formats: Any, folder: Path) -> Any:
    t.save(_state(t), folder / "first.pt")
    formats.torch_save_to_dcp(folder / "first.pt", folder / "checkpoint")
    formats.dcp_to_torch_save(folder / "checkpoint", folder / "second.pt")
    return t.load(folder / "second.pt", weights_only=False)


@pytest.mark.filterwarnings("ignore")
def test_there_and_back(tmp_path: Path) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    theirs.mkdir()
    own.mkdir()
    want = _there_and_back(real_torch, importlib.import_module("torch.distributed.checkpoint.format_utils"), theirs)
    same(want, _there_and_back(mstorch, format_utils, own))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    mstorch.save({"a": mstorch.ones(2)}, tmp_path / "a.pt")
    for words in (("torch_to_dcp", "a.pt", "folder"), ("dcp_to_torch", "folder", "b.pt"), ("dcp_to_torch", "nowhere", "c.pt")):
        monkeypatch.setattr(sys, "argv", ["format_utils", words[0], *(str(tmp_path / word) for word in words[1:])])
        format_utils.main()
    assert mstorch.load(tmp_path / "b.pt")["a"].tolist() == [1.0, 1.0]
    assert "No checkpoint found" in capsys.readouterr().out and not (tmp_path / "c.pt").exists()
