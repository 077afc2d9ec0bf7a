"""``port`` on a project of traps: each line that names CUDA or torch is changed, or named with its line and with what to write."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mstorch import __main__
from mstorch._commands.scan.notebooks import code_of

CODE = '''\
import importlib, os, sys, subprocess
import torch
import torch_npu
import torch, torch_npu
import torch.cuda.nvtx
from torch import cuda
from torch.cuda import is_available, device_count
from torch.cuda import CUDAGraph
from helpers import thing
where = [f"cuda:{i}", "cuda:" + str(i), "cuda:%d" % i, "cuda:{}".format(i), ":".join(["cuda", "0"])]
text = f"on cuda:{i}"
two = "cuda:0,1"
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
c = torch.cuda
thing.cuda()
class Own:
    def cuda(this):
        return this
    @property
    def cuda_name(self):
        return self._cuda
if x.is_cuda and x.device.type == "cuda" or str(x.device).startswith("cuda"):
    names = {"cuda": "NVIDIA", "cpu": "Intel"}
match x.device.type:
    case "cuda":
        pass
m = [importlib.import_module("torch"), __import__("torch"), pytest.importorskip("torch")]
mock.patch("torch.save"), mock.patch.object(torch.cuda, "is_available")
sys.modules["torch"], "torch" in sys.modules, importlib.metadata.version("torch")
exec("import torch")
torch.cuda.nvtx.range_push("x")
torch.version.cuda
x.type("torch.cuda.FloatTensor")
init(backend="nccl")
moved = x.cuda
moves = torch.Tensor.cuda
Trainer(accelerator="gpu")
Trainer(gpus=2)
subprocess.run(["torchrun", "train.py"])
subprocess.run([sys.executable, "-m", "torch.distributed.launch"])
of_bytes = b"cuda"
setup(install_requires=["torch>=2.0"])
'''
OTHERS = {
    "conf/train.yaml": "device: cuda\ntrainer:\n  accelerator: gpu\n  backend: nccl\nmodel:\n  _target_: torch.nn.Linear\n",
    "run.sh": "set -e\nexport CUDA_VISIBLE_DEVICES=0\ntorchrun train.py\npython -m torch.distributed.launch train.py\npython train.py --device cuda\nnvidia-smi\n",
    "launch": "#!/usr/bin/env bash\ntorchrun train.py\n",
    "requirements.txt": "numpy\ntorch==2.1\ntorchvision\nnvidia-cublas-cu12\ntriton\n--extra-index-url https://download.pytorch.org/whl/cu118\n",
    "pyproject.toml": '[project]\ndependencies = ["torch>=2.0", "numpy"]\n[tool.poetry.dependencies]\ntorch = "^2.0"\n',
    "setup.cfg": "[options]\ninstall_requires =\n    torch\n    numpy\n",
    "environment.yml": "dependencies:\n  - pytorch\n  - pytorch-cuda=11.8\n  - pip:\n    - torch[opt]>=2\n",
    "Dockerfile": "FROM nvidia/cuda:12.1-base\nRUN pip install torch numpy\n",
    "ds.json": '{\n "device": "cuda"\n}\n',
}
CELLS = [
    ("markdown", ["We `import torch` here.\n"]),
    ("code", ["%matplotlib inline\n", "import torch\n", "é = torch.ones(2).cuda()\n", "if é.is_cuda:\n", "    !nvidia-smi"]),
    ("code", ["%%bash\n", "torchrun train.py\n"]),
    ("code", ["torch.cuda.empty_cache()\n", "print(f'cuda:{0}')\n", "version = torch.version.cuda"]),
    ("code", ["Use GPU: cuda:0\n", "100 epochs in 2h"]),  # an output that was pasted, and a draft
    ("code", ["with torch.cuda.amp.autocast():\n", "...\n"]),
]
_NAMED = re.compile(r"cuda|nccl|torchrun|torch_npu|nvidia|torch\.distributed\.launch|accelerator.+gpu|gpus=|\btorch(vision)?\b(?!\.(Tensor|version)\b)|triton|whl/cu")


def _notebook(*, ascii_only: bool, indent: int | None = 1) -> str:
    cells = [{"cell_type": kind, "metadata": {}, "source": source, **({"outputs": [], "execution_count": None} if kind == "code" else {})} for kind, source in CELLS]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=indent, ensure_ascii=ascii_only) + "\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(CODE)
    for name, text in OTHERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "book.ipynb").write_text(_notebook(ascii_only=False))
    return tmp_path


def test_nothing_is_left_without_a_word(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_text().splitlines() for path in project.rglob("*") if path.is_file()}
    assert __main__.main(["port", str(project), "--write"]) == 0
    told = capsys.readouterr().err
    looked_at = 0
    for path, lines in before.items():
        after = path.read_text().splitlines()
        assert len(after) == len(lines)
        for number, (old, new) in enumerate(zip(lines, after, strict=True), 1):
            if _NAMED.search(old) and "cuda_name" not in old and "_cuda" not in old and "We `" not in old:
                looked_at += 1
                noted = [line for line in told.splitlines() if line.startswith(f"note: {path}:{number}: ")]
                assert new != old or noted, f"{path.name}:{number}: {old}"
                assert noted or "npu as cuda" in new or not re.search(r"cuda|nccl", new), f"{path.name}:{number}: {new}"
                assert all(len(line.split(": ", 2)[2]) > 20 for line in noted)
    assert looked_at == 62


def test_lines_without_torch_are_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text('"""About cuda."""\nimport numpy\nx = "a torch is a lamp"\ntorch = {"backend": "torch"}\n')
    (tmp_path / "a.yaml").write_text("# cuda\nlr: 0.1\nname: pytorch_lightning_run\n")
    (tmp_path / "b.txt").write_text("a barracuda\nhttps://pytorch.org/docs\n")
    assert __main__.main(["port", str(tmp_path)]) == 0
    assert "note" not in capsys.readouterr().err


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [1, 4, None])
def test_cells_of_notebooks_are_ported_and_all_else_stays(ascii_only: bool, indent: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "book.ipynb"
    text = _notebook(ascii_only=ascii_only, indent=indent)
    file.write_text(text)
    assert __main__.main(["port", str(file), "--write"]) == 0
    expected = json.loads(text)
    expected["cells"][1]["source"][1:4] = ["import mstorch as torch, mstorch.npu\n", "é = torch.ones(2).npu()\n", 'if (é.device.type == "npu"):\n']
    expected["cells"][3]["source"][:2] = ["torch.npu.empty_cache()\n", "print(f'npu:{0}')\n"]
    assert json.loads(file.read_text()) == expected
    assert file.read_text() == json.dumps(expected, indent=indent, ensure_ascii=ascii_only) + "\n"  # the layout, too
    assert __main__.main(["port", str(file)]) == 0
    assert "0 of 1 files to change" in capsys.readouterr().err


def test_cells_in_one_string_and_files_that_are_no_notebooks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "import torch\nx = 1\nx?"}]}))
    (tmp_path / "old.ipynb").write_text('{"worksheets": []}')
    (tmp_path / "broken.ipynb").write_text("{")
    assert __main__.main(["port", str(tmp_path), "--write"]) == 0
    assert json.loads((tmp_path / "one.ipynb").read_text())["cells"][0]["source"] == "import mstorch as torch\nx = 1\nx?"
    told = capsys.readouterr().err
    assert f"{tmp_path}/old.ipynb:1: not changed: not a notebook of format 4" in told and f"{tmp_path}/broken.ipynb:1: not changed: " in told


def test_code_of_cells_has_the_lines_of_the_file() -> None:
    text = _notebook(ascii_only=False)
    code = code_of(text.encode())
    for line, number in zip(code.text.decode().split("\n"), code.lines, strict=True):
        assert line.removeprefix("# ").strip().removeprefix("pass  # ") in text.splitlines()[number - 1].encode().decode()
