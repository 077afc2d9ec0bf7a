"""``python -m mstorch scan``: it finds all that is planted in a project and nothing else; verdicts; outputs."""
from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from mstorch import __main__
from mstorch._commands.scan import findings
from mstorch._commands.scan.sources import Source, read
from mstorch._commands.scan.verdict import verdict_on

ROOT = Path(__file__).parents[2]

# Lines with something planted end in "# NAME", "# METHOD", "# FORM", "# LEFT"; the others must not be reported.
NAMES = """\
from __future__ import annotations
import torch
import torch.nn as nn
import torch.no_package.inner  # NAME
import torch.nn.functional as F
from torch import Tensor, no_name  # NAME
from torch.autograd import no_grad, no_grad_at_all  # NAME
from torch.nn import Linear, Lineal  # NAME
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Dataset, DataLoadr  # NAME

class Net(nn.Moduel):  # NAME
    pass

@torch.no_gradd()  # NAME
def evaluate(net, loader):
    torch.manual_sed(1)  # NAME
    F.reluu(net)  # NAME
    F.relu(torch.ones(2))
    torch.linalg.invv(net)  # NAME
    torch.special.gammaa(net)  # NAME
    torch.fft.ffft(net)  # NAME
    nn.init.xavier(net)  # NAME
    torch.optim.Adamm([net])  # NAME
    torch.utils.chekpoint.checkpoint(net)  # NAME
    torch.distributions.Normall(0, 1)  # NAME
    torch.distributed.all_reducee(net)  # NAME
    torch.backends.cudnnn  # NAME
    torch.float23  # NAME
    getattr(torch, "no_such_function")(net)  # NAME
    getattr(torch, "no_such_function", None)

try:
    from torch import in_a_try
except ImportError:
    in_a_try = None

if hasattr(torch, "asked_for"):
    torch.asked_for()
"""
METHODS = """\
import torch
from torch import Tensor, nn
from typing import Optional

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("mask", torch.ones(3))

    def forward(self, x, options, flag=False):
        x.frobnicate()  # METHOD
        y = self.linear(x)
        y.frobnicated()  # METHOD
        (y + 1).plus()  # METHOD
        self.weight.norms()  # METHOD
        self.mask.masks()  # METHOD
        x[0].first()  # METHOD
        options.anything()
        options["a"].anything()
        flag.anything()
        self.helper(x).anything()
        for row in y:
            row.rows()  # METHOD
        return y.relu().reluu()  # METHOD

    def helper(self, x):
        x.anything()

def annotated(a: Tensor, b: "torch.Tensor", c: Optional[Tensor], d: list, e: Tensor | None = None):
    a.nothing_of_the_kind()  # METHOD
    b.nothing_of_the_kind()  # METHOD
    c.nothing_of_the_kind()  # METHOD
    d.nothing_of_the_kind()
    e.nothing_of_the_kind()  # METHOD
    if hasattr(a, "extra"):
        a.extra()
    a.own_method()
    a.keys()
    a = a.numpy()
    a.nothing_of_the_kind()

class Named(torch.Tensor):
    def own_method(self):
        return self

def results():
    values, indices = torch.ones(3).sort()
    values.valued()  # METHOD
    indices.indexed()  # METHOD
    torch.zeros(3).zeroed()  # METHOD
    a = torch.arange(3).view(3, 1)
    a.viewed()  # METHOD
    (-a).negated()  # METHOD
    a.T.transposedd()  # METHOD
    torch.matmul(a, a).multiplied()  # METHOD
    torch.nn.functional.relu(a).rectified()  # METHOD
    a.numpy().anything()
    a.shape.anything()
    a = open("file")
    a.anything()
"""
FORMS = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.ones(2, 3, dtypes=torch.float32)  # FORM
torch.sum(x, axis=1, keepdims=True)
torch.sum(x, dims=1)  # FORM
x.sum(dim=1, keep=True)  # FORM
nn.Linear(2, 3, biass=False)  # FORM
nn.Conv2d(1, 2, kernel=3)  # FORM
F.softmax(x, axes=1)  # FORM
torch.optim.Adam([x], learning_rate=1e-3)  # FORM
x.view(3, 2).transpose(0, 1, 2)  # FORM
torch.cat()  # FORM
F.relu(x, x, x, x)  # FORM
F.relu(x, inplace=True)
x.reshape(3, 2).permute(1, 0).max(dim=0)
torch.zeros(2, 3), torch.zeros((2, 3)), torch.randn(2, device="cpu")
"""
LEFT = """\
import torch
import torch.distributed as dist
import triton  # LEFT
from flash_attn.losses.cross_entropy import CrossEntropyLoss  # LEFT
from flash_attn import flash_attn_func
from flash_attn.bert_padding import unpad_input
from xformers.ops import memory_efficient_attention
from apex.normalization import FusedLayerNorm
from apex.optimizers.fused_adam import FusedAdam
import apex.amp, amp_C
import torch_scatter, torch_sparse.tensor, torch_cluster.fps
from mamba_ssm.ops.selective_scan_interface import selective_scan_fn
from mamba_ssm.modules.mha import MHA  # LEFT
import mmcv.ops, torchaudio.functional
from torch.utils.cpp_extension import load  # LEFT
torch.ops.load_library("kernels.so")  # LEFT
device = "cuda:0"  # LEFT
device = "cuda" if torch.cuda.is_available() else "cpu"

def train(net, x):
    net.cuda()  # LEFT
    x.to("cuda")  # LEFT
    s = torch.cuda.Stream()  # LEFT
    dist.init_process_group("nccl")  # LEFT
    with torch.autocast(device_type="cuda"):  # LEFT
        net(x)
    if torch.cuda.is_available():
        net.cuda()
"""
OWN = """\
import torch
from torch import nn

torch.old_function = len
nn.Module._old_apply = nn.Module.apply
torch.Tensor.frob = lambda self: self
torch.Tensor.other = property(lambda self: self)
setattr(torch.nn.functional, "my_own", len)
torch.nn.init.mine = len

torch.old_function([])
nn.Module._old_apply
nn.Linear(2, 3)
torch.ones(2).frob()
torch.ones(2).other
torch.nn.functional.my_own([])
nn.init.mine([])
torch.xpu.whatever()
torch.hpu.whatever()
"""
PLANTED = {"NAME": (findings.NAME, NAMES, 20), "METHOD": (findings.METHOD, METHODS, 20), "FORM": (findings.FORM, FORMS, 10), "LEFT": (findings.LEFT, LEFT, 11)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a project with all that is planted."""
    for word, (_, text, _) in PLANTED.items():
        (tmp_path / f"{word.lower()}.py").write_text(text)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def test_all_that_is_planted_is_found_and_nothing_else(project: Path) -> None:
    sources = [source for source in map(read, sorted(project.glob("*.py"))) if isinstance(source, Source)]
    found = {(item.file.name, item.line, item.kind) for item in findings.scan(sources, None).findings if item.counts}
    planted = set()
    for word, (kind, text, count) in PLANTED.items():
        lines = {(f"{word.lower()}.py", line, kind) for line, code in enumerate(text.splitlines(), 1) if code.endswith(f"# {word}")}
        assert len(lines) == count, word
        planted |= lines
    assert found == planted


def test_states_of_names(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["scan", str(project / "name.py")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{project}/name.py:6 torch.no_name  [missing name; stops the import]" in lines
    assert f"{project}/name.py:17 torch.manual_sed  [missing name; in a function (evaluate)]" in lines
    assert f"{project}/name.py:34 torch.in_a_try  [missing name; in a try]" in lines
    assert f"{project}/name.py:39 torch.asked_for  [missing name; after a check]" in lines
    assert "    20 names of torch that mstorch lacks (2 more that the code does without)" in lines


def test_examples_are_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["scan", str(ROOT / "examples")]) == 0
    assert capsys.readouterr().out.startswith("100 % of ")


def test_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(3, 3)\ntorch.linalg.svd(x)\nx.sum().item()\nx.relu()\n")
    assert __main__.main(["scan", str(tmp_path), "--device", "ascend"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[2].partition(";")[0] for line in lines if ".py:" in line] == [
        "torch.linalg.svd  [computed on the CPU", "torch.Tensor.item  [reads the device"]
    assert __main__.main(["scan", str(tmp_path)]) == 0
    assert ".py:" not in capsys.readouterr().out


def test_packages_that_are_not_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("import torch, os, no_such_package.part, b\ntry:\n    import another\nexcept ImportError:\n    pass\n")
    (tmp_path / "b.py").write_text("import yet_another\n")
    assert __main__.main(["scan", str(tmp_path)]) == 0
    assert "  not installed here: no_such_package, yet_another" in capsys.readouterr().out.splitlines()


def test_outputs(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = tmp_path / "found.html", tmp_path / "found.json"
    assert __main__.main(["scan", str(project), "--json", str(data), "--html", str(page)]) == 1
    plain = json.loads(data.read_text())
    assert sum(item["counts"] for item in plain["findings"]) == 61 and plain["per_cent"] < 100 and not plain["fine"]
    assert page.read_text().count("<tr") == len(plain["findings"]) + 1
    assert __main__.main(["scan"]) == 2
    assert __main__.main(["scan", str(tmp_path / "none")]) == 2
    assert __main__.main(["scan", "no_such_package_at_all"]) == 2
    (tmp_path / "broken.py").write_text("x = (")
    assert __main__.main(["scan", str(tmp_path / "broken.py")]) == 1
    assert "broken.py: cannot be read" in capsys.readouterr().out


PACKAGES = {
    "fine": ("import torch\nfrom . import part\n", "from torch import nn\ntry:\n    import no_such_module\nexcept ImportError:\n    pass\n", None),
    "below": ("from .part import thing\n", "from torch import no_name\nthing = 1\n", "torch.no_name is missing"),
    "lazy": ("def f():\n    from . import part\n", "from torch import no_name\n", None),
    "needs": ("from . import part\n", "import no_such_module\n", "needs no_such_module"),
    "raises": ("try:\n    import no_such_module\nexcept ImportError as error:\n    raise ImportError('install it') from error\n", "", "needs no_such_module"),
    "lacks": ("from .part import other\n", "thing = 1\n", "lacks.part has no other"),
    "tested": ("import sys\nif sys.version_info >= (4,):\n    import no_such_module\n", "", None),
    "asked": ("import torch\nif hasattr(torch, 'no_name'):\n    torch.no_name()\n", "", None),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_verdicts(name: str, tmp_path: Path) -> None:
    first, part, reason = PACKAGES[name]
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text(first)
    (package / "part.py").write_text(part)
    reasons = [text for _, _, text in verdict_on(name, package).reasons]
    assert not reasons if reason is None else reasons and reasons[0].startswith(reason)


def test_a_package_that_torch_asks_for_too_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """tensorboard, if it is not installed, is not reported as a name that mstorch lacks."""
    if importlib.util.find_spec("tensorboard") is not None:
        pytest.skip("tensorboard is installed")
    (tmp_path / "a.py").write_text("import torch\nfrom torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()\n")
    assert __main__.main(["scan", str(tmp_path / "a.py")]) == 0
    out = capsys.readouterr().out
    assert "not installed here: tensorboard" in out and "100 %" in out


def test_what_only_raises_is_named_and_does_not_stop_the_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\nfrom torch.distributed import rpc\nfrom torch.distributed.pipelining import pipeline, PipelineStage\nfrom torch.cuda import Stream\n"
        "torch.hub.load('a', 'b'); torch.hub.load('a', 'b', source='local')\nfrom torch import no_name\n"
    )
    assert __main__.main(["scan", str(tmp_path)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if ".py:" in line]
    assert [int(line.partition(".py:")[2].partition(" ")[0]) for line in lines] == [2, 3, 4, 5, 6]
    assert [line for line in lines if "stops the import" in line] == [f"{tmp_path}/a.py:6 torch.no_name  [missing name; stops the import]"]


def test_packages_are_named_as_they_are_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if importlib.util.find_spec("hydra") is not None:
        pytest.skip("hydra is installed")
    (tmp_path / "a.py").write_text("import torch, hydra\n")
    assert __main__.main(["scan", str(tmp_path)]) == 0
    assert "not installed here: hydra-core (for hydra)" in capsys.readouterr().out


def test_notebooks_and_settings_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [{"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n"]}, {"cell_type": "code", "source": ["torch.manual_sed(0)"]}]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}, indent=1))
    (tmp_path / "train.yaml").write_text("device: cuda\nmodel: torch.nn.Linear\nother: torch.nn.Lineal\n")
    (tmp_path / "run.sh").write_text("torchrun train.py\n")
    assert __main__.main(["scan", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    line = next(number for number, text in enumerate((tmp_path / "book.ipynb").read_text().splitlines(), 1) if "manual_sed" in text)
    assert f"{tmp_path}/book.ipynb:{line} torch.manual_sed  [missing name; stops the import]" in lines
    assert f"{tmp_path}/train.yaml:3 torch.nn.Lineal  [missing name]" in lines
    assert f'{tmp_path}/train.yaml:1 device: cuda  [beside the code; write "npu" where it is a device]' in lines
    assert f"{tmp_path}/run.sh:1 torchrun train.py  [beside the code; write python -m mstorch.distributed.run]" in lines
    assert "     2 names of torch that mstorch lacks" in lines
