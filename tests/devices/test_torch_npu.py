"""torch_npu and scripts that name cuda, on the stand-in device; without a device both raise."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests import warm
from tests.cann import build

from . import scripts_of_two
from .scripts_of_users import SCRIPTS

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]


def _environment(device: bool, variables: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": "Ascend" if device else "", **variables}


def _said(*command: str, device: bool = True, **variables: str) -> str:
    early = "TORCH_TRANSFER_TO_NPU" in variables or "--cuda-is-npu" in command  # mstorch reads it at import
    return warm.said(*command, environment=_environment(device, variables), library="mindspore" if early else "mstorch").strip()


def _said_alone(*command: str, device: bool = True, **variables: str) -> str:
    """Return the output of a program in a process of its own, for tests of imports or of child processes."""
    environment = _environment(device, variables)
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("program", ["scripts_for_cuda", "torch_npu_operators", pytest.param("fused_operators", marks=pytest.mark.long)])
def test_programs_of_the_device(program: str) -> None:
    assert _said("-m", f"tests.devices.{program}").splitlines()[-1] == "[]"


@pytest.mark.parametrize("program", ["torch_npu_parts", "contrib_parts", "contrib_regions", pytest.param("compiled", marks=pytest.mark.long)])
def test_modules_of_torch_npu(program: str) -> None:
    assert _said("-m", "mstorch", "-m", f"tests.devices.{program}").splitlines()[-1] == "[]"


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
assert not [name for name in sys.modules if "_companions.torch_npu" in name]
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
assert torch_npu.__spec__.name == "mstorch._companions.torch_npu"
print("there")
"""


EARLY = "import sys; sys.path.insert(0, '.'); import runpy; hook = runpy.run_path('mstorch/_src/hook.py', run_name='mstorch._src.hook'); hook['install']()\n"


def test_absent_without_a_device() -> None:
    assert _said_alone("-c", f"{EARLY}EARLY = False\n{ABSENT}", device=False) == "absent"
    assert _said_alone("-m", "mstorch", "-c", f"EARLY = True\n{ABSENT}", device=False) == "absent"


@pytest.mark.parametrize("device", [False, True])
def test_mindspore_may_import_what_asks_for_all_distributions(tmp_path: pathlib.Path, device: bool) -> None:
    """MindSpore imports triton, which pip installs with torch and which lists all distributions, before MindSpore itself is complete."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(
        "import importlib.metadata, types\nasked = len(list(importlib.metadata.distributions()))\nruntime = types.SimpleNamespace(jit=None)\n"
    )
    program = f"{EARLY}import torch, sys; print(sys.modules['triton'].asked > 0, torch.ones(1).item())"
    assert _said_alone("-c", program, device=device, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}") == "True 1.0"


def test_absent_where_torch_is_not_mstorch() -> None:
    program = "import mstorch, importlib.util; assert importlib.util.find_spec('torch_npu') is None; print('absent')"
    assert _said_alone("-c", program) == "absent"


def test_there_on_a_device() -> None:
    assert _said_alone("-m", "mstorch", "-c", PRESENT) == "there"
    assert _said_alone("-c", f"import mstorch; mstorch.install()\n{PRESENT}") == "there"


@pytest.mark.parametrize("way", ["import", "variable", "option"])
def test_ways_to_let_cuda_mean_npu(way: str) -> None:
    first = "from torch_npu.contrib import transfer_to_npu\n" if way == "import" else ""
    program = f"import torch\n{first}print(torch.cuda.is_available(), torch.ones(2).cuda().device)"
    options = ["--cuda-is-npu"] if way == "option" else []
    variables = {"TORCH_TRANSFER_TO_NPU": "1"} if way == "variable" else {}
    assert _said("-m", "mstorch", *options, "-c", program, **variables) == "True npu:0"


SEEN = """
import os, torch
from torch_npu.contrib import transfer_to_npu
os.environ.update({late})
try:
    print(torch.cuda.is_available(), torch.cuda.device_count(), os.environ.get("ASCEND_RT_VISIBLE_DEVICES"))
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("early", "late", "said"),
    [
        ({}, {}, "True 8 None"), ({"CUDA_VISIBLE_DEVICES": "2,5"}, {}, "True 2 2,5"), ({}, {"CUDA_VISIBLE_DEVICES": "3"}, "True 1 3"),
        ({"CUDA_VISIBLE_DEVICES": ""}, {}, "False 0 "), ({"CUDA_VISIBLE_DEVICES": "-1"}, {}, "False 0 -1"),
        ({"CUDA_VISIBLE_DEVICES": "1,-1,2"}, {}, "True 1 1,-1,2"), ({"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "0,1"}, "True 2 0,1"),
        ({"ASCEND_RT_VISIBLE_DEVICES": "1,2"}, {}, "True 2 1,2"), ({"ASCEND_RT_VISIBLE_DEVICES": "4"}, {"CUDA_VISIBLE_DEVICES": " 4"}, "True 1  4"),
        ({"ASCEND_RT_VISIBLE_DEVICES": "1"}, {"CUDA_VISIBLE_DEVICES": "2"}, "name different devices"), ({}, {"CUDA_VISIBLE_DEVICES": "GPU-3f"}, "names no Ascend devices"),
    ],
)  # fmt: skip
def test_variables_that_name_devices(early: dict[str, str], late: dict[str, str], said: str) -> None:
    program = SEEN.replace("{late}", repr(late))
    found = _said("-m", "mstorch", "-c", program, MSTORCH_FAKE_DEVICES="8", **early)
    assert said.strip() in found if "devices" in said or "Ascend" in said else found == said.strip()


@pytest.mark.parametrize(("visible", "said"), [("", "False 0"), ("-1", "False 0"), ("9", "False 0"), ("3", "True 1")])
def test_no_device_is_available_where_none_is_seen(visible: str, said: str) -> None:
    program = "import torch; print(torch.npu.is_available(), torch.npu.device_count())"
    assert _said("-m", "mstorch", "-c", program, MSTORCH_FAKE_DEVICES="8", ASCEND_RT_VISIBLE_DEVICES=visible) == said


def test_variables_of_cuda_name_nothing_without_the_switch() -> None:
    program = "import os, torch; print(torch.npu.device_count(), os.environ.get('ASCEND_RT_VISIBLE_DEVICES'))"
    assert _said("-m", "mstorch", "-c", program, MSTORCH_FAKE_DEVICES="8", CUDA_VISIBLE_DEVICES="1") == "8 None"


NCCL = """
import sys, torch
import torch.distributed as dist
before = dist.is_nccl_available(), dist.is_backend_available("nccl"), dist.Backend("nccl")
from torch_npu.contrib import transfer_to_npu
assert before == (False, False, "nccl") and dist.is_nccl_available() and dist.is_backend_available("cpu:gloo,cuda:nccl")
assert dist.Backend("NCCL") == "hccl" == dist.Backend(dist.Backend.NCCL) == dist.get_default_backend_for_device("cuda")
dist.init_process_group(sys.argv[1], init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
x = torch.ones(3, device="cuda")
dist.all_reduce(x)
group = dist.new_group([0], backend="nccl")
dist.broadcast(x, 0, group=group)
mesh = dist.device_mesh.init_device_mesh("cuda", (1,))
print(dist.get_backend(), dist.get_backend(group), mesh.device_type, x.tolist(), x.device)
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("name", "said"), [("nccl", "hccl"), ("cpu:gloo,cuda:nccl", "cpu:gloo,npu:hccl")])
def test_nccl_is_hccl_where_cuda_means_npu(name: str, said: str) -> None:
    assert _said("-m", "mstorch", "-c", NCCL, name) == f"{said} hccl npu [1.0, 1.0, 1.0] npu:0"


def test_without_a_device_cuda_means_no_npu() -> None:
    done = warm.done("-m", "mstorch", "--cuda-is-npu", "-c", "print(1)", environment=_environment(False, {}), library="mindspore")
    assert done.returncode == 1 and "no Ascend device" in done.stderr and not done.stdout
    assert _said("-m", "mstorch", "-c", "import torch; print(torch.cuda.is_available())", device=False, TORCH_TRANSFER_TO_NPU="1") == "False"


@pytest.fixture(scope="module")
def numbers_of_the_cpu() -> dict[str, list[str]]:
    lines = _said("-m", "mstorch", "-m", "tests.devices.scripts_of_users", "cpu", device=False).splitlines()
    return {name: text.split() for name, text in map(json.loads, lines)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_users_give_the_numbers_of_the_cpu(name: str, numbers_of_the_cpu: dict[str, list[str]]) -> None:
    found = _said("-m", "mstorch", "-m", "tests.devices.scripts_of_users", name).split()
    most = 1e-2 if "precision" in name else 1e-5  # bfloat16 has 8 bits: a rounding is up to 4e-3 of a number
    for mine, theirs in zip(found, numbers_of_the_cpu[name], strict=True):
        assert mine == theirs or abs(float(mine) - float(theirs)) <= most * max(1.0, abs(float(theirs))), (mine, theirs)
    assert len(found) > 2


def _said_by_plugin(*command: str, folder: str = "") -> str:
    """Return the output of a program whose two devices are MindSpore's Ascend plugin's; ``folder`` is the first one of its imports."""
    environment = build.environment(EMULATED_CANN_DEVICES=2, EMULATED_CANN_MEMORY_MB=1024, MSTORCH_DEVICE_RANDOM="host")
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, environment["PYTHONPATH"])))
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def _of_two(place: str) -> dict[str, list[str]]:
    command = ("-m", "mstorch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "tests.devices.scripts_of_two", place)
    lines = (_said_by_plugin(*command) if place == "npu" else _said(*command, device=False)).splitlines()
    return dict(json.loads(line) for line in lines if line.startswith("["))


@pytest.mark.long
@pytest.mark.skipif(bool(build.missing()), reason=build.missing())
def test_scripts_of_two_processes_give_the_numbers_of_the_cpu() -> None:
    """The scripts use hccl or nccl on two devices, and gloo on the CPU."""
    found, wanted = _of_two("npu"), _of_two("cpu")
    for name in scripts_of_two.SCRIPTS:
        assert len(wanted[name]) > 3
        assert scripts_of_two.nearby(found[name], wanted[name], 1e-2 if "precision" in name else 1e-5), (name, found[name], wanted[name])


@pytest.mark.long
@pytest.mark.skipif(bool(build.missing()), reason=build.missing())
def test_a_script_that_spawns_gives_the_numbers_of_the_cpu(tmp_path: pathlib.Path) -> None:
    said = {}
    (tmp_path / "sitecustomize.py").write_text((ROOT / "tools" / "mstorch_hook.pth").read_text())  # the wheel installs it
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    for place in ("npu", "cpu"):
        script = tmp_path / f"{place}.py"
        script.write_text(scripts_of_two.SPAWNED if place == "npu" else scripts_of_two.on_cpu(scripts_of_two.SPAWNED))
        command = ("-m", "mstorch", str(script), f"file://{tmp_path}/{place}")
        said[place] = (
            _said_by_plugin(*command, folder=str(tmp_path)) if place == "npu" else _said_alone(*command, device=False, PYTHONPATH=path)
        ).split()
    assert len(said["cpu"]) == 3 and scripts_of_two.nearby(said["npu"], said["cpu"], 1e-5), said
