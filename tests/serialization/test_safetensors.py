"""The safetensors package itself: its torch module under ``python -m mstorch``, its NumPy module with our tensors."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import mstorch as ms

pytest.importorskip("safetensors")
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = str(pathlib.Path(__file__).with_name("safetensors_script.py"))


def run(how, folder, other):
    ordered = {**os.environ, "PYTHONHASHSEED": "0"}  # error texts of safetensors list sets
    done = subprocess.run(
        [sys.executable, *how, SCRIPT, folder, other], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False, env=ordered
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_safetensors_torch_under_both_libraries(tmp_path):
    folders = [tmp_path / "torch", tmp_path / "ours", tmp_path / "none"]
    for folder in folders:
        folder.mkdir()
    real, ours = run([], folders[0], folders[2]), run(["-m", "mstorch"], folders[1], folders[0])
    assert (real.pop("library"), ours.pop("library")) == ("torch", "mstorch")
    assert all(map(all, ours.pop("same"))) and len(real["same"]) == 1
    again = run([], folders[2], folders[1])
    assert len(again["same"]) == 2 and all(map(all, again["same"])), "torch reads what mstorch wrote"
    assert ours == {key: value for key, value in real.items() if key != "same"}
    for name in ("a", "net", "tied"):
        files = [(folder / f"{name}.safetensors").read_bytes() for folder in folders[:2]]
        assert files[0] == files[1] if name == "a" else len(files[0]) == len(files[1])


def test_safetensors_numpy(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    tensors = {"a": ms.arange(6.0).reshape(2, 3), "b": ms.tensor([1, 2], dtype=ms.int16), "c": ms.tensor([True])}
    library.save_file({name: tensor.numpy() for name, tensor in tensors.items()}, tmp_path / "a.safetensors")
    loaded = library.load_file(tmp_path / "a.safetensors")
    for name, tensor in tensors.items():
        assert ms.equal(ms.from_numpy(loaded[name]), tensor)
        np.testing.assert_array_equal(library.load(library.save(loaded))[name], tensor.numpy())
    ours = ms.load(tmp_path / "a.safetensors")
    assert all(ms.equal(ours[name], tensor) for name, tensor in tensors.items())
