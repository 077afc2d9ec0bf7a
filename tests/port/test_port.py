"""``python -m mstorch port``: the diff, the code that it does not change, and runs of the result."""
from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from mstorch import __main__
from mstorch._commands.port.edits import edited
from tests import warm

ROOT = Path(__file__).parents[2]

LINES = {
    "import torch": "import mstorch as torch",
    "import torch as th, os": "import mstorch as th, os",
    "import os, torch, torch.nn as nn": "import os, mstorch as torch, mstorch.nn as nn",
    "import torch.nn": "import mstorch as torch, mstorch.nn",
    "from torch import nn, Tensor as T": "from mstorch import nn, Tensor as T",
    "from torch.utils.data import DataLoader": "from mstorch.utils.data import DataLoader",
    "import torchvision, torch_npu": "import torchvision, torch_npu",
    "from .torch import thing": "from .torch import thing",
    "import torch; d = 'cuda' if torch.cuda.is_available() else 'cpu'": "import mstorch as torch; d = 'npu' if torch.accelerator.is_available() else 'cpu'",
    "x.to('cuda:1').cuda(); y = x.cuda(non_blocking=True)": "x.to('npu:1').npu(); y = x.npu(non_blocking=True)",
    "d = f'cuda:{rank}'": "d = f'npu:{rank}'",
    "import torch; torch.cuda.set_device(1); torch.cuda.manual_seed(1)": "import mstorch as torch, mstorch.npu; torch.accelerator.set_device_index(1); torch.npu.manual_seed(1)",
    "import torch as th; th.cuda.empty_cache(); th.cuda.ipc_collect()": "import mstorch as th, mstorch.npu; th.npu.empty_cache(); th.npu.ipc_collect()",
    "from torch.cuda.amp import GradScaler": "from mstorch.npu.amp import GradScaler",
    "from torch.cuda import nccl": "from mstorch.cuda import nccl",
    "init('nccl', device='cuda')": "init('hccl', device='npu')",
    "print('cuda is fast', 'cudax')": "print('cuda is fast', 'cudax')",
    "'cuda'": "'cuda'",
    "größe = 'cuda'; x = größe": "größe = 'npu'; x = größe",
    "torch_npu.thing('cuda')": "torch_npu.thing('cuda')",
    "x = other.cuda.is_available": "x = other.cuda.is_available",
    "d = 'cuda:' + str(i); e = 'cuda:%d' % i; f = 'cuda:{}'.format(i)": "d = 'npu:' + str(i); e = 'npu:%d' % i; f = 'npu:{}'.format(i)",
    "from torch import nn, cuda": "from mstorch import nn, npu as cuda",
    "from torch import cuda as c": "from mstorch import npu as c",
    "import torch; c = torch.cuda": "import mstorch as torch, mstorch.npu; c = torch.npu",
    "from torch.cuda import empty_cache, synchronize": "from mstorch.npu import empty_cache, synchronize",
    "class Net:\n    def cuda(self):\n        return super().cuda()": "class Net:\n    def npu(self):\n        return super().npu()",
    "if not x.is_cuda and y: pass": "if not (x.device.type == \"npu\") and y: pass",
    "m = importlib.import_module('torch.nn'); pytest.importorskip('torch')": "m = importlib.import_module('mstorch.nn'); pytest.importorskip('mstorch')",
    "mock.patch('torch.save')": "mock.patch('mstorch.save')",
    "import torch, torch_npu": "import mstorch as torch, torch_npu",
    "import torch.cuda; torch.cuda.empty_cache()": "import mstorch as torch, mstorch.npu; torch.npu.empty_cache()",
    "import torch.cuda as c, torch.cuda.amp as amp": "import mstorch.npu as c, mstorch.npu.amp as amp",
    "from torch.cuda import *": "from mstorch.npu import *",
    "a = f'cuda:{i}'\nb = f'cuda'\nc = 1": "a = f'npu:{i}'\nb = f'npu'\nc = 1",
    "class A:\n    @staticmethod\n    def cuda(x): pass\nclass B:\n    @property\n    def cuda(self): pass": "class A:\n    @staticmethod\n    def npu(x): pass\nclass B:\n    @property\n    def cuda(self): pass",
    "import kernels; kernels.cuda(x).cuda()": "import kernels; kernels.cuda(x).npu()",
    "import torch\ntry: pass\nexcept torch.cuda.OutOfMemoryError: pass": "import mstorch as torch\ntry: pass\nexcept torch.OutOfMemoryError: pass",
    "mock.patch('torch.cuda.is_available'); m.setattr('torch.cuda.empty_cache', f)": "mock.patch('mstorch.accelerator.is_available'); m.setattr('mstorch.npu.empty_cache', f)",
    "init('cpu:gloo,cuda:nccl')": "init('cpu:gloo,npu:hccl')",
}


@pytest.mark.parametrize("line", LINES)
def test_lines(line: str) -> None:
    assert edited(line.encode(), ast.parse(line), "npu").decode() == LINES[line]
    assert edited(LINES[line].encode(), ast.parse(LINES[line]), "npu").decode() == LINES[line]  # a second run changes nothing


def test_cuda_is_left_for_gpus() -> None:
    source = b"import torch\nx.cuda('cuda')\n"
    assert edited(source, ast.parse(source), "cuda") == b"import mstorch as torch\nx.cuda('cuda')\n"


def test_diff_and_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"import torch\r\nx = torch.ones(2)\r\n")
    file.chmod(0o755)
    assert __main__.main(["port", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "-import torch\r\n+import mstorch as torch" in out and file.read_bytes().startswith(b"import torch\r\n")
    assert __main__.main(["port", str(tmp_path), "--write"]) == 0
    assert file.read_bytes() == b"import mstorch as torch\r\nx = torch.ones(2)\r\n" and file.stat().st_mode & 0o111
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_nothing_is_written_if_a_file_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    (tmp_path / "b.py").write_text("x = (\n")
    assert __main__.main(["port", str(tmp_path), "--write"]) == 1
    assert (tmp_path / "a.py").read_text() == "import torch\n"
    assert __main__.main(["port", str(tmp_path / "none")]) == 1
    assert __main__.main(["port"]) == 2


MIXED = """
import torch
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(4, 2).to(device)
optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1), GradScaler()
for number in range(3):
    optimizer.zero_grad()
    with autocast(), torch.autocast("cuda"), torch.cuda.amp.autocast(enabled=True):
        loss = net(torch.ones(3, 4, device=device)).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(device, scaler.is_enabled(), f"{loss.item():.2f}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("device", ["", "Ascend"])
def test_what_is_written_runs_with_a_device_and_without(device: str, tmp_path: Path) -> None:
    """As on a machine with a GPU or without: half precision there, a warning here."""
    (tmp_path / "a.py").write_text(MIXED)
    assert __main__.main(["port", str(tmp_path), "--write"]) == 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3", "MSTORCH_FAKE_DEVICE": device}
    done = warm.done("a.py", environment=environment, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("npu True 0." if device else "cpu False 0.")
    assert ("NPU is not available" in done.stderr) is not bool(device)


@pytest.mark.slow
def test_what_is_written_runs_without_the_hook(tmp_path: Path) -> None:
    """The GPT example gives the same losses ported, and unported where ``import torch`` imports mstorch."""
    for name in ("train.py", "gpt.py"):
        (tmp_path / name).write_text((ROOT / "examples" / "models" / name).read_text())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "3"}
    environment.pop("MSTORCH_HOOK", None)
    command = [str(tmp_path / "train.py"), "gpt", "--steps", "2"]
    before = warm.said("-m", "mstorch", *command, environment=environment)
    assert __main__.main(["port", str(tmp_path), "--write"]) == 0
    assert "import mstorch as torch" in (tmp_path / "gpt.py").read_text()
    after = warm.said(*command, environment=environment)
    assert after == before and "loss" in after


def test_what_is_left_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("import torch\nimport torch_npu\nnames = {'cuda': 'NVIDIA'}\nTrainer(accelerator='gpu')\nfrom torch.cuda import Graph\n")
    (tmp_path / "train.sh").write_text("set -e\ntorchrun --nproc-per-node 8 train.py\n")
    (tmp_path / "config.yaml").write_text("device: cuda\n")
    (tmp_path / "requirements.txt").write_text("numpy\ntorch>=2.0\n")
    (tmp_path / "book.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["!pip install torch\\n"]}]}')
    assert __main__.main(["port", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    for place in ("a.py:2", "a.py:3", "a.py:4", "a.py:5", "train.sh:2", "config.yaml:1", "requirements.txt:2", "book.ipynb:1"):
        assert f"{place}: " in told, place
    assert "numpy" not in told


def test_a_ported_program_runs_where_there_is_no_device() -> None:
    source = b"import torch\ntorch.cuda.empty_cache()\nassert torch.cuda.memory_allocated() == 0\nassert not torch.ones(1).is_cuda\n"
    exec(compile(edited(source, ast.parse(source), "npu"), "ported", "exec"), {})


def test_modules_that_import_torch_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Though the metadata of their package does not ask for torch: ``einops.layers.torch``."""
    package = tmp_path / "site-packages" / "shapes"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "torch.py").write_text("import os\n\nfrom torch import nn\n")
    (package / "numpy.py").write_text("import numpy\n")
    monkeypatch.syspath_prepend(str(package.parent))
    (tmp_path / "a.py").write_text("import torch, numpy\nfrom shapes.torch import Rearrange\nfrom shapes import numpy as other\n")
    assert __main__.main(["port", str(tmp_path / "a.py")]) == 0
    assert "note: shapes.torch import torch themselves: run with `python -m mstorch`" in capsys.readouterr().err
