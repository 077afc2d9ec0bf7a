"""torch_npu and scripts that say cuda: on the stand-in device, and that neither shows without one."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from .scripts_of_users import SCRIPTS

ROOT = pathlib.Path(__file__).parents[2]


def _done(*command: str, device: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3", **variables}
    environment.pop("MSTORCH_FAKE_DEVICE", None)
    if device:
        environment["MSTORCH_FAKE_DEVICE"] = "Ascend"
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, env=environment)


def _said(*command: str, device: bool = True, **variables: str) -> str:
    done = _done(*command, device=device, **variables)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("program", ["scripts_for_cuda", "fused_operators"])
def test_programs_of_the_device(program: str) -> None:
    assert _said("-m", f"tests.devices.{program}").splitlines()[-1] == "[]"


def test_modules_of_torch_npu() -> None:
    assert _said("-m", "mstorch", "-m", "tests.devices.torch_npu_parts").splitlines()[-1] == "[]"


ABSENT = """
import importlib.metadata, importlib.util, sys
assert importlib.util.find_spec("torch_npu") is None
try:
    importlib.metadata.version("torch_npu")
except importlib.metadata.PackageNotFoundError:
    pass
else:
    raise AssertionError("a version")
assert "mindspore" not in sys.modules or EARLY
import torch
assert importlib.util.find_spec("torch_npu") is None and not hasattr(torch, "npu") and not torch.cuda.is_available()
assert not [name for name in sys.modules if "_torch_npu" in name]
try:
    import torch_npu
except ModuleNotFoundError as error:
    assert error.name == "torch_npu"
else:
    raise AssertionError("torch_npu")
print("absent")
"""
PRESENT = """
import importlib.metadata, importlib.util
spec = importlib.util.find_spec("torch_npu")
assert spec is not None and spec.submodule_search_locations is not None and importlib.util.find_spec("torch_npu.nothing") is None
assert importlib.metadata.version("torch_npu") == importlib.metadata.version("torch-npu") == importlib.metadata.version("torch")
assert "torch_npu" in importlib.metadata.packages_distributions()
import torch_npu
import torch
import torch_npu.npu.amp
assert torch_npu.npu is torch.npu and torch_npu.npu.amp is torch.npu.amp and torch_npu.__version__ == torch.__version__
assert torch_npu.__spec__.name == "mstorch._torch_npu"
print("there")
"""


def test_absent_without_a_device() -> None:
    early = "import sys; sys.path.insert(0, '.'); import runpy; hook = runpy.run_path('mstorch/_hook.py', run_name='mstorch._hook'); hook['install']()\n"
    assert _said("-c", f"{early}EARLY = False\n{ABSENT}", device=False) == "absent"
    assert _said("-m", "mstorch", "-c", f"EARLY = True\n{ABSENT}", device=False) == "absent"


def test_absent_where_torch_is_not_mstorch() -> None:
    program = "import mstorch, importlib.util; assert importlib.util.find_spec('torch_npu') is None; print('absent')"
    assert _said("-c", program) == "absent"


def test_there_on_a_device() -> None:
    assert _said("-m", "mstorch", "-c", PRESENT) == "there"
    assert _said("-c", f"import mstorch; mstorch.install()\n{PRESENT}") == "there"


@pytest.mark.parametrize("way", ["import", "variable", "option"])
def test_ways_to_let_cuda_mean_npu(way: str) -> None:
    first = "from torch_npu.contrib import transfer_to_npu\n" if way == "import" else ""
    program = f"import torch\n{first}print(torch.cuda.is_available(), torch.ones(2).cuda().device)"
    options = ["--cuda-is-npu"] if way == "option" else []
    variables = {"TORCH_TRANSFER_TO_NPU": "1"} if way == "variable" else {}
    assert _said("-m", "mstorch", *options, "-c", program, **variables) == "True npu:0"


def test_without_a_device_cuda_means_no_npu() -> None:
    done = _done("-m", "mstorch", "--cuda-is-npu", "-c", "print(1)", device=False)
    assert done.returncode == 1 and "no Ascend device" in done.stderr and not done.stdout
    assert _said("-m", "mstorch", "-c", "import torch; print(torch.cuda.is_available())", device=False, TORCH_TRANSFER_TO_NPU="1") == "False"


@pytest.fixture(scope="module")
def numbers_of_the_cpu() -> dict[str, list[str]]:
    lines = _said("-m", "mstorch", "-m", "tests.devices.scripts_of_users", "cpu", device=False).splitlines()
    return {name: text.split() for name, text in map(json.loads, lines)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_users_give_the_numbers_of_the_cpu(name: str, numbers_of_the_cpu: dict[str, list[str]]) -> None:
    found = _said("-m", "mstorch", "-m", "tests.devices.scripts_of_users", name).split()
    most = 2e-2 if "precision" in name else 1e-5
    for mine, theirs in zip(found, numbers_of_the_cpu[name], strict=True):
        assert mine == theirs or abs(float(mine) - float(theirs)) <= most * max(1.0, abs(float(theirs))), (mine, theirs)
    assert len(found) > 2
