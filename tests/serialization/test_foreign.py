"""Pickles of PyTorch in programs of ``import mstorch as torch``: no object of PyTorch itself comes in without a word."""
from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MODULE = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)


class Rows:
    def __init__(self):
        self.x = torch.ones(3)
"""


def _said(folder: Path, source: str, *options: str) -> tuple[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    (folder / "script.py").write_text(source)
    run = subprocess.run([sys.executable, *options, "script.py"], capture_output=True, text=True, env=environment, cwd=folder, check=False)
    return run.stdout.strip(), run.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    (path / "ours.py").write_text(MODULE)
    sys.path.insert(0, str(path))
    try:
        import ours  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(path))
    for name, value in {"net": ours.Net(), "rows": ours.Rows(), "tensor": torch.ones(2), "layer": torch.nn.Linear(2, 2)}.items():
        torch.save(value, path / f"{name}.pt")
        (path / f"{name}.pkl").write_bytes(pickle.dumps(value))
    return path


@pytest.mark.parametrize("name", ["tensor", "layer", "rows", "net"])
@pytest.mark.parametrize("reader", ["pickle", "pickle._Unpickler"])
def test_a_plain_pickle_warns_on_its_line(folder: Path, name: str, reader: str) -> None:
    call = "pickle.load(file)" if reader == "pickle" else "pickle._Unpickler(file).load()"
    source = f"import pickle, mstorch as torch\nwith open('{name}.pkl', 'rb') as file:\n    value = {call}\nprint(type(value).__name__)"
    out, err = _said(folder, source)
    assert out and err.count("makes objects of PyTorch itself, not of mstorch") == 1
    if reader == "pickle":
        assert "script.py:3: UserWarning" in err
    out, err = _said(folder, source, "-m", "mstorch")
    assert out and "UserWarning" not in err


def test_imports_of_torch_by_statement_do_not_warn(folder: Path) -> None:
    source = "import importlib, pickle, mstorch as torch\npickle.loads(pickle.dumps(1))\ndef f():\n    import {0}\n    return pickle.load\nf()"
    for form in ("torch", "ours", "torch.nn as nn"):
        assert _said(folder, source.format(form)) == ("", "")
    assert _said(folder, "import importlib, mstorch as torch\nimportlib.import_module('torch')\nprint(1)") == ("1", "")


def test_files_of_torch_save_hold_mstorchs_objects_or_are_refused(folder: Path) -> None:
    source = (
        "import mstorch as torch\nfor name in ('tensor', 'layer', 'rows', 'net'):\n    try:\n"
        "        value = torch.load(f'{name}.pt', weights_only=False)\n"
        "        value = getattr(value, 'x', getattr(value, 'weight', value))\n        print(isinstance(value, torch.Tensor))\n"
        "    except Exception as error:\n        print(type(error).__name__, 'derives from a class of PyTorch itself' in str(error))"
    )
    assert _said(folder, source) == ("True\nTrue\nTrue\nUnpicklingError True", "")
    assert _said(folder, source.replace("mstorch as torch", "torch"), "-m", "mstorch")[0].split("\n")[:3] == ["True"] * 3
