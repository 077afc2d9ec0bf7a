"""Process groups of tensors on an Ascend device: the stand-in plays HCCL; the calls of MindSpore's are held by their arguments."""
from __future__ import annotations

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import pytest
from mindspore.mint import distributed as native

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = pathlib.Path(__file__).with_name("hccl_script.py")


def _lines(backend: str, size: int) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    environment.pop("MSTORCH_FAKE_DEVICE", None)
    if backend == "hccl":
        environment |= {"MSTORCH_FAKE_DEVICE": "Ascend", "MSTORCH_FAKE_DEVICES": str(size)}
    done = subprocess.run(
        [sys.executable, "-m", "mstorch.distributed.run", "--nproc_per_node", str(size), str(SCRIPT), backend],
        cwd=ROOT, capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))


@pytest.mark.parametrize("size", [2, 3])
def test_collectives_and_training_on_devices_give_what_gloo_gives(size: int) -> None:
    on_devices = _lines("hccl", size)
    assert len(on_devices) >= 12 * size
    assert on_devices == _lines("gloo", size)


def test_calls_fit_the_functions_of_mindspore() -> None:
    """Names and numbers of arguments, from the syntax tree of the one file that calls them."""
    tree = ast.parse((ROOT / "mstorch/_backend/collectives.py").read_text())
    seen = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "native":
            signature = inspect.signature(getattr(native, node.func.attr))
            signature.bind(*node.args, **{word.arg: word.value for word in node.keywords if word.arg})
            names = list(signature.parameters)
            for place, argument in enumerate(node.args):
                if ast.unparse(argument) == "group":
                    assert names[place] == "group", node.func.attr
            seen += 1
    assert seen >= 14
