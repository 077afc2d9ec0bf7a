"""``python -m mstorch compare`` names planted faults, and reports nothing for runs without faults."""
from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mstorch import __main__
from mstorch._commands import compare as _compare
from mstorch._commands.compare import align
from mstorch._commands.compare.align import Alignment
from tests.chosen import chosen
from tests.compare.records import found_in, options, planted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("library_imported_once")]

SCRIPT = str(Path(__file__).with_name("planted.py"))
RESNET = str(Path(__file__).with_name("planted_resnet.py"))
EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = EXAMPLES / "models"

# The fault of planted.py: the module to be reported, the phase, the step, and words of the report.
FAULTS = {
    "eps": ("Net.blocks.1.bn2", "forward", 0, "eps=0.01"),
    "eval": ("Net.blocks.0.bn1", "forward", 0, "training=False"),
    "weight": ("Net.blocks.2.conv1", "forward", 0, "weight of Conv2d is another"),
    "function": ("Net.activation", "backward", 0, "the gradient that Activation gives its input"),
    "draw": ("Net.drop", "forward", 0, "random numbers"),
    "dimension": ("Net.attention", "forward", 0, "computes itself"),
    "activation": ("Net.blocks.0", "forward", 0, "before it calls Net.blocks.0.conv2"),
    "kernel": ("Net.attention", "forward", 0, "computes itself"),
    "detached": ("Net.blocks.2", "backward", 0, "the gradient that Block gives"),
    "skip": ("Net.head", "forward", 0, "torch calls Net.skipped"),
    "data": ("Net", "forward", 2, "the data"),
    "loss": ("the loss", "forward", 0, "outside of the modules"),
    "scheduler": ("SGD (optimizer 0)", "step", 4, "lr is"),
    "momentum": ("SGD (optimizer 0)", "step", 0, "momentum is 0.8"),
    "step": ("SGD (optimizer 0)", "step", 0, "Net.head.bias"),
}

# The same for planted_resnet.py.
FAULTS_OF_RESNET = {
    "eps": ("ResNet18.stages.2.1.bn2", "forward", 0, "eps=0.001"),
    "statistics": ("ResNet18.stages.2.1.bn1", "forward", 1, "running_mean of BatchNorm2d is another"),
    "weight": ("ResNet18.stages.1.0.conv2", "forward", 0, "weight of Conv2d is another"),
    "frozen": ("ResNet18.stages.3.0.downsample.1", "forward", 0, "training=False"),
    "padding": ("ResNet18.stages.2.1.conv1", "forward", 0, "padding_mode=circular"),
    "hook": ("ResNet18.stages.1.1.conv1", "backward", 0, "the gradient that Conv2d gives its input"),
    "function": ("ResNet18.fc.2", "backward", 0, "the gradient that SquaredReLU gives its input"),
    "input": ("ResNet18", "forward", 0, "the data"),
    "draw": ("the script", "forward", 2, "random numbers"),
    "decay": ("SGD (optimizer 0)", "step", 0, "weight_decay is 0.005"),
    "scheduler": ("SGD (optimizer 0)", "step", 0, "or a scheduler"),
    "kept": ("SGD (optimizer 0)", "step", 3, "no zero_grad"),
    "clipped": ("SGD (optimizer 0)", "step", 0, "clipping"),
}


@pytest.fixture(scope="module")
def want() -> list[dict[str, Any]]:
    """Return the events of a run with real torch."""
    record = _compare._run(options(SCRIPT), False)
    assert record is not None and "mstorch" not in record["version"]
    events: list[dict[str, Any]] = record["events"]
    return events


@pytest.fixture(scope="module")
def want_of_resnet() -> list[dict[str, Any]]:
    """Return the events of ResNet-18 with real torch."""
    record = _compare._run(options(RESNET), False)
    assert record is not None and record["error"] is None
    events: list[dict[str, Any]] = record["events"]
    return events


def found_with(plant: str, want: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, script: str = SCRIPT) -> Alignment:
    """Return the comparison of a run that is started as the command starts it."""
    monkeypatch.setenv("PLANT", plant)
    record = _compare._run(options(script), True)
    assert record is not None and "mstorch" in record["version"] and record["error"] is None
    return Alignment(want, record["events"])


@pytest.fixture(scope="module")
def with_faults(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the runs of planted.py."""
    return planted(SCRIPT, chosen(request, "plant"), tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def resnets_with_faults(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the runs of planted_resnet.py."""
    return planted(RESNET, chosen(request, "plant"), tmp_path_factory.mktemp("resnet"))


@pytest.mark.parametrize("plant", FAULTS)
def test_planted_faults_are_named(plant: str, want: list[dict[str, Any]], with_faults: Path) -> None:
    found = found_in(with_faults / plant, want)
    where, phase, step, words = FAULTS[plant]
    assert found is not None and (found.where, found.phase, found.step) == (where, phase, step)
    assert words in found.what


@pytest.mark.parametrize("plant", FAULTS_OF_RESNET)
def test_faults_of_a_resnet_are_named(plant: str, want_of_resnet: list[dict[str, Any]], resnets_with_faults: Path) -> None:
    """Gradients are clipped, so that one wrong gradient changes all others of the step."""
    found = found_in(resnets_with_faults / plant, want_of_resnet)
    where, phase, step, words = FAULTS_OF_RESNET[plant]
    assert found is not None and (found.where, found.phase, found.step) == (where, phase, step)
    assert words in found.what


def test_a_resnet_without_a_fault_agrees(want_of_resnet: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_with("", want_of_resnet, monkeypatch, RESNET).found is None


def test_without_a_fault_all_agrees(want: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    alignment = found_with("", want, monkeypatch)
    assert alignment.found is None and alignment.steps == 10
    assert len(alignment.losses[0]) == len(alignment.losses[1]) == 10
    assert max(layer.forward for layer in alignment.layers) < 1e-4


@pytest.mark.parametrize("model", ["gpt", "resnet"])
def test_models_give_no_false_alarm(model: str, tmp_path: Path) -> None:
    code = __main__.main(["compare", "--steps", "5", "--html", str(tmp_path / "a.html"), str(MODELS / "train.py"), model, "--steps", "5"])
    assert code == 0


def test_kinks_that_turn_over_are_no_difference() -> None:
    """ReLU6 at its limits: different gradients of two of 48 elements, and their effect on the norm, are no fault; a difference of all
    elements is one."""
    values = np.linspace(0.1, 1.0, 48)
    flipped = values.copy()
    flipped[[5, 30]] *= 1.05

    def event(sample: np.ndarray) -> dict[str, Any]:
        return {"shape": (48,), "dtype": "float32", "sample": sample, "norm": float(np.linalg.norm(sample)), "largest": float(sample.max())}

    share = align._OWN_SHARE
    assert align.deviation(event(values), event(flipped), share) < 1e-6 < 0.01 < align.deviation(event(values), event(flipped))
    assert align.deviation(event(values), event(values * 1.02), share) > align._GRADIENT


NO_MEAN = """
import torch
from torch import nn

torch.manual_seed(0)
project = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(), nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8))
net = nn.Sequential(project, nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(), nn.Flatten(), nn.Linear(16 * 36, 3))
optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True)
for step in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 3, 8, 8)), torch.randint(3, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_statistics_that_are_nothing_but_rounding_are_no_difference(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The mean of a batch norm's result is 0, and so is that of a product with it: the next layer's running mean is pure rounding error."""
    (tmp_path / "script.py").write_text(NO_MEAN)
    assert __main__.main(["compare", "--html", str(tmp_path / "a.html"), str(tmp_path / "script.py")]) == 0, capfd.readouterr().out


TUNING = """
import torch
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)
small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
model = BertForSequenceClassification(BertConfig(vocab_size=100, max_position_embeddings=32, **small))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 10)
for step in range(8):
    tokens = torch.randint(1, 100, (16, 12))
    loss = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens.sum(1) % 2).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
"""


@pytest.mark.slow
@pytest.mark.parametrize("script", ["digits", "characters", "bert", "lora"])
def test_programs_give_no_false_alarm(script: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if script in ("bert", "lora"):
        for name in ("transformers", "peft")[: 1 if script == "bert" else 2]:
            if importlib.util.find_spec(name) is None:
                pytest.skip(f"{name} is not installed")
    (tmp_path / "bert.py").write_text(TUNING)
    command = {
        "digits": [str(EXAMPLES / "digits_cnn.py"), "--epochs", "2"], "characters": [str(Path(__file__).with_name("characters.py"))],
        "bert": [str(tmp_path / "bert.py")], "lora": [str(EXAMPLES / "tasks" / "tune_bert.py"), "--steps", "8"],
    }  # fmt: skip
    assert __main__.main(["compare", "--html", str(tmp_path / "a.html"), *command[script]]) == 0
    assert "all modules, gradients and steps agree" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("plant", ["", "device"])
def test_a_gradient_of_a_device(plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A kernel that is wrong on the device only is found: ReLU's gradient, in a module that writes to its input."""
    monkeypatch.setenv("MSTORCH_FAKE_DEVICE", "Ascend")
    monkeypatch.setenv("PLANT", plant)
    script = [RESNET, "--device", "{device}"]
    assert __main__.main(["compare", "--device", "npu", "--html", str(tmp_path / "a.html"), *script]) == (1 if plant else 0)
    assert ("first        ResNet18.stages.3.1.relu, backward, step 0" in capfd.readouterr().out) is bool(plant)


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The report names the operation below the module, and a page is written."""
    monkeypatch.setattr(_compare, "subprocess", subprocess)
    monkeypatch.setenv("PLANT", "kernel")
    page = tmp_path / "a.html"
    assert __main__.main(["compare", "--steps", "2", "--html", str(page), SCRIPT]) == 1
    text = capfd.readouterr().out
    assert "first        Net.attention, forward, step 0" in text and "torch.softmax differs from torch" in text
    assert page.read_text().count("<svg") == 2 and "Net.blocks.1.bn2" in page.read_text()


@pytest.mark.parametrize("plant", ["", "device"])
def test_a_device_beside_the_cpu(plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MSTORCH_FAKE_DEVICE", "Ascend")
    monkeypatch.setenv("PLANT", plant)
    script = [SCRIPT, "--device", "{device}"]
    assert __main__.main(["compare", "--device", "npu", "--steps", "6", "--html", str(tmp_path / "a.html"), *script]) == (1 if plant else 0)
    assert ("first        Net.attention, forward, step 0" in capfd.readouterr().out) is bool(plant)


def test_a_run_that_ends_early_is_told_and_not_taken_for_a_difference(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nnet = torch.nn.Linear(3, 2)\nfor _ in range(2):\n    net(torch.ones(1, 3)).sum().backward()\n"
        "    torch.optim.SGD(net.parameters(), lr=0.1).step()\nif hasattr(torch.version, 'mstorch'):\n    net(torch.ones(1, 4))\n"
    )
    assert __main__.main(["compare", "--html", str(tmp_path / "a.html"), str(script)]) == 2
    text = capfd.readouterr().out
    assert "under mstorch the script ended with RuntimeError" in text and "first " not in text


def test_bad_command_lines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["compare"]) == 2
    assert __main__.main(["compare", str(tmp_path / "none.py")]) == 2
    assert __main__.main(["compare", "--help"]) == 0
    assert "--torch-python" in capfd.readouterr().out


@pytest.mark.long
def test_a_checkpoint_gives_both_runs_its_weights(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nnet = torch.nn.Linear(3, 2)\nif hasattr(torch.version, 'mstorch'):\n    net.weight.data.mul_(2)\n"
        "net(torch.ones(1, 3)).sum().backward()\ntorch.optim.SGD(net.parameters(), lr=0.1).step()\n"
    )
    (tmp_path / "save.py").write_text(f"import torch\ntorch.save(torch.nn.Linear(3, 2).state_dict(), {str(tmp_path / 'a.pth')!r})\n")
    assert subprocess.run([sys.executable, "save.py"], cwd=tmp_path, check=False).returncode == 0
    page = ["--html", str(tmp_path / "a.html")]
    assert __main__.main(["compare", *page, str(script)]) == 1
    assert __main__.main(["compare", *page, "--checkpoint", str(tmp_path / "a.pth"), str(script)]) == 0
