"""Cost of programs on a device: kernels, copies from the host, reads. Counted on the stand-in device (tests/devices/cost.py)."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from tests import warm

from .launched import STEPS

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
Costs = Callable[[str], dict[str, Any]]

SCRIPT = """
import torch
layer = torch.nn.Linear(2, 2).npu()
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for i in range(3):
    x = torch.ones(1, 2).npu()
    loss = layer(x).sum()
    loss.backward()
    loss.item()
    optimizer.step()
"""


def test_the_tool_names_kernels_copies_and_reads_of_each_step(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend"}
    done = warm.done("-m", "tools.device_cost", str(script), environment=environment)
    assert done.returncode == 0, done.stderr
    first = done.stderr.partition("step 2")[0]
    assert "reads 1," in first and "reads          1  script.py:9" in first
    assert "script.py:6 (" in first and ", 8 bytes" in first
    assert "1  Dense" in first and done.stderr.splitlines()[-1].startswith("3 steps, of ")


def _launched(library: str, names: list[str], module: str = "launched") -> dict[str, Any]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))  # MindSpore's additions to sys.path hide modules
    environment = {**os.environ, "PYTHONPATH": path, "MSTORCH_FAKE_DEVICE": "Ascend"}
    done = warm.done("-m", f"tests.devices.{module}", library, *names, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_steps_launch_what_torch_launches() -> None:
    """A step launches at most 1.3 times the kernels that torch's dispatcher counts, casts included; twice for recurrent layers."""
    names = [name for name in STEPS if name not in ("BERT", "Llama") or importlib.util.find_spec("transformers")]
    most = {"LSTM": 2.0, "GRU": 2.0}
    torch, ours = (_launched(library, names) for library in ("torch", "mstorch"))
    counted = {name: (sum(ours[name]["kernels"].values()) + sum(ours[name]["casts"].values()), sum(torch[name].values())) for name in names}
    assert len(counted) >= 10 and all(many > 10 for pair in counted.values() for many in pair), counted
    assert not {name: pair for name, pair in counted.items() if pair[0] > most.get(name, 1.3) * pair[1]}
    assert not {name: ours[name]["copies"] for name in names if sum(ours[name]["copies"].values()) > ours[name]["parts"] + 2}
    assert not {name: ours[name]["reads"] for name in names if ours[name]["reads"] and name not in ("BERT", "Llama")}  # reads its mask


MORE: dict[str, tuple[int, str]] = {
    "bce, weighted": (8, "weights are multiplied and the mean taken after the kernel"), "huber": (4, "delta times smooth L1, which Ascend has a kernel of"), "nll": (4, "the kernel needs weights: ones, there and back"),
    "multi margin": (19, "composed: MindSpore has no kernel that runs on the cores"), "multilabel margin": (30, "composed, as multi margin"),
    "grid_sample, bicubic": (89, "composed: MindSpore names no bicubic mode"), "Bilinear": (12, "composed of products"),
    "softmax": (4, "its gradient's kernel crashed on a 910B"), "log_softmax": (4, "as softmax"),
    "attention, odd heads": (10, "the fused kernel takes multiples of 16"),
    "antialias": (8, "a product along each axis"), "area": (5, "as antialias"),
    "nearest-exact": (6, "a selection along each axis"), "AvgPool2d": (5, "a convolution: a 910B refused AvgPool2d"),
    "cdist": (10, "composed"),
    "generate, fixed memory": (59, "rows that a mask hides are found: five kernels a call of attention"),
}  # fmt: skip
"""Programs that launch more than 1.5 times torch's kernels: how many, and why."""
SENT = {"batch of a loader": 2, "AveragedModel": 1, "load": 24, "load by the CPU": 6, "NAdam": 1}
"""Copies from the host: batches, files, a counter of the CPU's, a number that is another at each step."""
ASKED = {"GradScaler": 1, "loss.item(), scheduler": 1, "save": 18, "evaluation": 1, "Adafactor": 12, "LBFGS": 95}
"""Reads: numbers of Python's, files, and what torch reads as well."""
DRAWS = {"generate, cat"}
"""Draws numbers, which the stand-in takes from the host."""


def test_parts_of_programs_launch_what_torch_launches() -> None:
    """Kernels, copies and reads of losses, layers and parts of programs are compared with the kernels that torch's dispatcher counts."""
    torch, ours = (_launched(library, [], "programs") for library in ("torch", "mstorch"))
    counted = {name: (sum(cost["kernels"].values()) + sum(cost["casts"].values()), sum(torch[name].values()) - torch[name].get("reads", 0)) for name, cost in ours.items()}
    assert len(counted) >= 100
    assert not {name: pair for name, pair in counted.items() if pair[0] > MORE.get(name, (1.5 * pair[1], ""))[0]}
    assert not {name: counted[name] for name, (most, _) in MORE.items() if counted[name][0] <= 1.5 * counted[name][1]}  # needless entries
    assert not {name: cost["copies"] for name, cost in ours.items() if sum(cost["copies"].values()) > SENT.get(name, 0) and name not in DRAWS}
    assert not {name: cost["reads"] for name, cost in ours.items() if sum(cost["reads"].values()) > ASKED.get(name, 0) and name not in DRAWS}


def test_movements_send_nothing(device_cost: Costs) -> None:
    costs = device_cost("moves")
    assert len(costs) >= 60
    assert not [name for name, cost in costs.items() if cost["wrong"]]
    for way in ("forward", "backward"):
        sent = {name: (cost[way]["bytes"], cost[way]["reads"]) for name, cost in costs.items() if cost[way]["bytes"] or cost[way]["reads"]}
        assert set(sent) <= {"block_diag"}, sent  # the result is written into zeros that the host sends


def test_writes_by_positions_and_masks_are_one_kernel(device_cost: Costs) -> None:
    """A write is one kernel, and one more for a Python number; positions are not read, and no table of them is sent."""
    costs = device_cost("writes")
    assert len(costs) >= 24
    assert not [name for name, cost in costs.items() if cost["wrong"]]
    assert not {name: cost["bytes"] for name, cost in costs.items() if sum(cost["bytes"].values())}
    assert not [name for name, cost in costs.items() if cost["reads"]]
    assert not {name: cost["kernels"] for name, cost in costs.items() if sum(cost["kernels"].values()) > (2 if name != "index_fill_" else 4)}


# Calls whose results have shapes that depend on values, that check values on the host as torch does, or whose numbers the stand-in
# device draws on the host; and calls that the host computes for now.
READ = {"unique", "bincount", "allclose", "item", "Normal.rsample", "Categorical"}
DRAWN = {"multinomial", "bernoulli"}
BY_THE_HOST = {"logcumsumexp"}


def test_which_calls_wait_for_a_device(device_cost: Costs) -> None:
    costs = device_cost("reads")
    assert len(costs) >= 140
    assert not {name: cost["wrong"] for name, cost in costs.items() if cost["wrong"]}
    sized = {name: cost for name, cost in costs.items() if cost["sized"]}
    assert {name for name, cost in costs.items() if cost["reads"]} <= READ | DRAWN | BY_THE_HOST | set(sized)
    twice = {"x[m] = rows"}  # which needs positions forward and backward
    assert len(sized) >= 16
    assert not {name: cost["reads"] for name, cost in sized.items() if sum(cost["reads"].values()) != (2 if name in twice else 1)}
    assert not {name: cost["bytes"] for name, cost in sized.items() if sum(cost["bytes"].values())}
