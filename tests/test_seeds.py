"""The torch snippets of MindSpore's own migration guides run with their import changed and print what the guides show.

The guides stand beside the project (``../shared/seeds``), not in it. A snippet is named by its document, its first and its
last line, so that nothing of the text is repeated here; where a guide shows the output, that is compared.
"""
from __future__ import annotations

import contextlib
import io
import pathlib
import re
import runpy
import sys
from typing import Any

import numpy as np
import pytest

SEEDS = pathlib.Path(__file__).resolve().parents[2] / "shared" / "seeds"

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the migration guides are not there")


def _document(number: str) -> str:
    return next(SEEDS.glob(f"{number}_*.txt")).read_text()


def _ours(code: str) -> str:
    """The code with torch's imports changed to mstorch."""
    code = re.sub(r"^(\s*)import torch$", r"\1import mstorch as torch", code, flags=re.M)
    return re.sub(r"^(\s*)import torch\.", r"\1import mstorch.", code, flags=re.M)


def _snippet(number: str, first: str, last: str, after: str = "") -> str:
    text = _document(number)
    start = text.index(first, text.index(after) if after else 0)
    end = text.index(last, start) + len(last)
    return _ours(text[start:end])


def _run(code: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """What the code prints as ``__main__``, and its names."""
    script = tmp_path / "snippet.py"
    script.write_text(code)
    monkeypatch.chdir(tmp_path)
    main = sys.modules["__main__"]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            names = runpy.run_path(str(script), init_globals=given, run_name="__main__")
    finally:
        sys.modules["__main__"] = main
    return printed.getvalue(), names


CELL_PT = ("import torch.nn as torch_nn\n\nclass MyCell_pt", "print(i.shape)")


@pytest.mark.parametrize("number", ["000", "001", "002", "003"])
def test_a_network(number: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed, _ = _run(_snippet(number, *CELL_PT), tmp_path, monkeypatch)
    assert printed == "torch.Size([240, 120, 4, 4])\n"


@pytest.mark.parametrize("number", ["000", "001", "003"])
def test_a_network_gives_the_outputs_of_its_mindspore_form(
    number: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = (
        "from mindspore import nn, ops\nclass MyCell(nn.Cell):\n"
        "    def __init__(self, net):\n        super().__init__()\n        self.net = net\n        self.relu = ops.ReLU()\n"
        "    def construct(self, x):\n        return self.relu(self.net(x))\n"
    )
    inner = 'inner_net = nn.Conv2d(120, 240, 4, has_bias=False, pad_mode="pad")\nmy_net = MyCell(inner_net)\n'
    pair = _snippet(number, "x = np.random.uniform(-1, 1, (2, 120, 12, 12))", "print(diff)", after="np.random.uniform")
    pair = f"import numpy as np\nimport mindspore as ms\nimport mstorch as torch\n{inner}{pair}"
    code = "import mindspore as ms\n" + native + _snippet(number, *CELL_PT) + "\n" + pair
    printed, _ = _run(code, tmp_path, monkeypatch)
    assert float(printed.strip().splitlines()[-1]) < 5e-5


def test_an_initialiser(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("000", "002"):
        _, names = _run(_snippet(number, "import torch\n\nx = torch.empty(2, 2)", "uniform_(x)"), tmp_path, monkeypatch)
        values = names["x"].numpy()
        assert values.shape == (2, 2) and ((values >= 0) & (values < 1)).all() and len(np.unique(values)) == 4


@pytest.mark.parametrize("number", ["000", "001", "003"])
def test_a_boolean_mask(number: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _snippet(number, "def box_select_torch", "return box[mask]")
    native = _snippet(number, "def box_select_ms(", "masked_select(box, mask)")
    compare = _snippet(number, "import torch\nimport numpy as np\nimport mindspore as ms\n", "torch.from_numpy(iou_score)))", after="def box_select_ms(")
    code = f"import mindspore as ms\nfrom mindspore import ops\n{ours}\n{native}\n{compare}"
    printed, _ = _run(code, tmp_path, monkeypatch)
    assert printed.strip().splitlines()[-1] == "box_select_torch tensor([[0.1468, 0.0923, 0.1863, 0.3456]])"


@pytest.mark.parametrize("number", ["000", "001", "003"])
def test_top_k_with_a_tensor(number: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = _snippet(number, "class ClassLoss_pt", "return loss.mean()")
    code = (
        f"import mstorch as torch\nimport mstorch.nn as torch_nn\nimport numpy as np\nimport mindspore as ms\n{ours}\n"
        "ms.set_seed(1)\npred = np.random.uniform(0, 1, (5, 2)).astype(np.float32)\n"
        "label = np.array([-1, 0, 1, 1, 0]).astype(np.int32)\n"
        'print("cls_loss_pt", ClassLoss_pt()(torch.from_numpy(pred), torch.from_numpy(label)))\n'
    )
    printed, _ = _run(code, tmp_path, monkeypatch)
    assert printed == "cls_loss_pt tensor(0.7207)\n"


def test_a_focal_loss(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch as real_torch

    import mstorch

    code = _snippet("004", "import torch.nn.functional as F", "loss = weight_reduce_loss(loss, weight, reduction, avg_factor)\n    return loss")
    _, ours = _run(code, tmp_path, monkeypatch)
    oracle = code.replace("import mstorch.nn", "import torch.nn")
    _, theirs = _run(oracle, tmp_path, monkeypatch)
    random = np.random.RandomState(1)
    pred, target = (random.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(2))
    weight = random.uniform(0, 1, (3,)).astype(np.float32)
    for options in (
        {"gamma": 2.0, "alpha": 0.25, "reduction": "mean"},
        {"gamma": 1.0, "alpha": 0.5, "reduction": "sum"},
        {"gamma": 2.0, "alpha": 0.25, "reduction": "mean", "avg_factor": 0.3},
        {"gamma": 2.0, "alpha": 0.25, "reduction": "none"},
    ):
        results = [
            names["py_sigmoid_focal_loss"](*(lib.from_numpy(a) for a in (pred, target)), weight=lib.from_numpy(weight), **options)
            for names, lib in ((ours, mstorch), (theirs, real_torch))
        ]
        np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-5, atol=1e-7)


def test_a_generator(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("000", "002"):
        code = _snippet(number, "G = torch.Generator()", "G.manual_seed(1)")
        code = "import mstorch as torch\n" + "\n".join(line.strip() for line in code.splitlines())
        _, names = _run(code, tmp_path, monkeypatch)
        import torch as real_torch

        assert names["G"].get_state().numpy().tobytes() == real_torch.Generator().manual_seed(1).get_state().numpy().tobytes()
        assert names["G"].get_state().shape == (5056,)


def test_a_network_in_float32(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = _snippet("002", "import torch\nimport torch.nn as nn\n\nclass Network(nn.Module)", "loss = loss.to(torch.float32)")
    _, names = _run(code, tmp_path, monkeypatch)
    import mstorch

    out = names["net"](mstorch.randn(2, 3, 20, 20))
    assert out.shape == (2, 10) and all(p.dtype is mstorch.float32 for p in names["net"].parameters())


def _shown(number: str, after: str, first: str, last: str) -> str:
    text = _document(number)
    start = text.index(first, text.index(after))
    return text[start : text.index(last, start) + len(last)] + "\n"


def test_frozen_parameters(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = _snippet("002", "import torch.nn as nn\n\nnet = nn.Linear(2, 1)", "if param.requires_grad:\n        print(\"Parameter Name:\", name)")
    printed, _ = _run(code, tmp_path, monkeypatch)
    assert printed == _shown("002", "if param.requires_grad:", "Parameter Name: weight\nParameter", "bias\nParameter Name: weight")


def test_saved_and_loaded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = _snippet("002", "import torch\nimport torch.nn as nn\n\nlinear_layer", "print(new_linear_layer.bias)")
    printed, _ = _run(code, tmp_path, monkeypatch)
    start = "Original linear layer parameters:\nParameter"
    text = _document("002")
    shown = text[text.index(start) :]
    assert shown.startswith(printed), printed


def test_submodules(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = _snippet("002", "import torch.nn as nn\n\nclass MyModule(nn.Module)", "{type(module_instance)}\")")
    printed, _ = _run(code, tmp_path, monkeypatch)
    assert printed == _shown("002", "class MyModule(nn.Module)", "Module name: , type:", "sequential_block.2, type: <class 'torch.nn.modules.activation.ReLU'>")


def test_moved_to_the_cpu(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, names = _run(_snippet("002", "import torch\ntorch_net", "torch_net.cpu()"), tmp_path, monkeypatch)
    assert names["torch_net"].weight.shape == (4, 3)
