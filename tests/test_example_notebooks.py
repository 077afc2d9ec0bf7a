"""The notebooks of examples/notebooks correspond to their scripts, and run: in Jupyter's kernel if it is installed, and cell by cell."""
from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from tests import warm
from tools.notebooks import FOLDER, cells, notebook

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(FOLDER.glob("*.py"))
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
made = nbformat.read(sys.argv[1], 4)
nbformat.validate(made)
NotebookClient(made, timeout=300, kernel_name="python3").execute()
print(sum(cell.cell_type == "code" and cell.execution_count is not None for cell in made.cells), "cells")
"""
CELLS = """
import json, sys
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
"""


def ran(notebook_file: Path, folder: Path, code: str, **variables: str) -> str:
    """Return the output of a program that is given the notebook, in a copy of its folder."""
    (folder / "notebooks").mkdir()
    (folder / "data").symlink_to(FOLDER.parent / "data")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "", "PYTHONPATH": path, **variables}
    command = ["-c", code, str(notebook_file)]
    done = warm.done(*command, environment=environment, folder=folder / "notebooks", seconds=600)
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_notebooks_are_those_of_the_scripts(script: Path) -> None:
    text = script.read_text("utf-8")
    written = script.with_suffix(".ipynb").read_text("utf-8")
    assert written == notebook(text), "python -m tools.notebooks writes it anew"
    kinds = [cell["cell_type"] for cell in json.loads(written)["cells"]]
    assert kinds == ["markdown" if is_text else "code" for is_text, _ in cells(text)] and "code" in kinds


@pytest.mark.slow
@pytest.mark.parametrize("device", ["", "Ascend"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_cells_run(script: Path, device: str, tmp_path: Path) -> None:
    if device and script.stem != "on_a_device":
        pytest.skip("it names no device")
    told = ran(script.with_suffix(".ipynb"), tmp_path, CELLS, MSTORCH_FAKE_DEVICE=device)
    assert script.stem != "on_a_device" or f"computed on {'npu' if device else 'cpu'}" in told


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_jupyter_runs_them(script: Path, tmp_path: Path) -> None:
    for module in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    told = ran(script.with_suffix(".ipynb"), tmp_path, EXECUTE)
    assert f"{sum(not is_text for is_text, _ in cells(script.read_text('utf-8')))} cells" in told
