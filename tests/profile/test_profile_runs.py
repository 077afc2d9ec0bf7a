"""``python -m mstorch profile``: the parts add up to the elapsed time, and the advice names the slow line."""
from __future__ import annotations

import json
import types
from pathlib import Path

import pytest

from mstorch import __main__
from mstorch._commands import profile as _profile
from mstorch._commands.profile.advice import reason
from tests import warm

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[2] / "examples" / "models"

# Scripts in which the line marked "# slow" costs most, and words of the expected reason; "device" for those of the stand-in device.
SLOW = {
    "a loop over elements": ("x = torch.randn(3000)\ntotal = torch.zeros(())\nfor i in range(3000):\n    total = total + x[i] * 2  # slow\n", "one call over all", ""),
    "double precision": ("x = torch.randn(700, 700, dtype=torch.float64)\nfor _ in range(10):\n    y = x @ x  # slow\nz = torch.relu(y)\n", "float64", ""),
    "a large product": ("x = torch.randn(900, 900)\nfor _ in range(15):\n    y = x @ x  # slow\n    z = torch.relu(x[0])\n", "the work of torch.Tensor.__matmul__", ""),
    "plain Python": ("x = torch.ones(3)\nx + 1\nn = sum(i * i for i in range(3_000_000))  # slow\nx + n\n", "Python, NumPy", ""),
    "reads of a device": ("x = torch.randn(2000).npu()\ntotal = 0.0\nfor i in range(300):\n    total += x.sum().item()  # slow\n", "are read", "Ascend"),
    "copies to a device": ("x = torch.randn(300, 300)\nfor i in range(2000):\n    y = x.npu()  # slow\n", "copy once", "Ascend"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _mindspore_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_profile, "subprocess", types.SimpleNamespace(run=warm.run))


def profiled(script: Path, tmp_path: Path, *arguments: str) -> dict:
    """Return the profile of a script's run."""
    out = tmp_path / "profile.json"
    assert __main__.main(["profile", "--json", str(out), str(script), *arguments]) == 0
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", SLOW)
def test_advice_names_the_slow_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    text, words, device = SLOW[name]
    script = tmp_path / "script.py"
    script.write_text(f"import torch\n{text}")
    if device:
        monkeypatch.setenv("MSTORCH_FAKE_DEVICE", device)
    profiled(script, tmp_path)
    told = capfd.readouterr().out.partition("the costliest lines:\n")[2].splitlines()
    assert told[0].endswith("# slow"), told
    assert words in told[1], told


@pytest.mark.parametrize("model", ["gpt", "lstm_lm", "transformer", "unet"])
def test_the_parts_make_up_the_time(model: str, tmp_path: Path) -> None:
    """The times of operations, gradients, steps and modules add up to at most the elapsed time; the lines' times add up to it."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(MODELS)!r})\nimport torch, {model} as example\n"
        "torch.manual_seed(0)\nmodel, optimizer = example.build()\nfor _ in range(8):\n    loss = example.loss(model, *example.batch())\n"
        "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    )
    found = profiled(script, tmp_path)
    wall = found["wall"]
    assert sum(found["lines"].values()) == pytest.approx(wall, rel=0.1)
    sums = {kind: sum(total for total, _ in named.values()) for kind, named in found["sums"].items()}
    assert 0 < sums["operation"] + sums["gradient"] + sums["step"] <= 1.01 * wall
    assert sums["module alone"] <= wall and sums["kernel"] <= wall


def test_trace_and_bad_command_lines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.ones(2, requires_grad=True).exp().sum().backward()\n")
    assert __main__.main(["profile", "--trace", str(tmp_path / "trace.json"), str(script)]) == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {("operation", "torch.Tensor.exp"), ("gradient", "torch.Tensor.exp")} <= {(event["cat"], event["name"]) for event in events}
    assert all(event["dur"] >= 0 for event in events)
    assert __main__.main(["profile"]) == 2
    assert __main__.main(["profile", str(tmp_path / "none.py")]) == 2
    script.write_text("raise SystemExit(3)\n")
    assert __main__.main(["profile", str(script)]) == 3


def test_reasons() -> None:
    assert "no operation" in reason({}, 1.0)
    assert "are read" in reason({"calls of torch.Tensor.item": 10, "reads of a device's values": 10}, 1.0)
    assert "one dtype" in reason({"calls of torch.add": 10, "conversions between dtypes": 10, "elements": 10**6}, 1.0)
