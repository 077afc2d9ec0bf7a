"""CPU tensors mixed with device tensors, in every argument of every operator of torch's database: refused where torch refuses them."""
from __future__ import annotations

import json
import os
import pathlib

import pytest

from tests import warm

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
import json
import mstorch as torch

F, nn = torch.nn.functional, torch.nn
x, y, t = torch.randn(3, 4, device="npu"), torch.randn(3, 4), torch.tensor([0, 1, 2])


def put(key, value):
    x.clone()[key] = value


CALLS = {
    "gather": lambda: x.gather(1, t[:, None]), "aten": lambda: torch.ops.aten.gather(x, 1, t[:, None]), "in place": lambda: x.index_add_(0, t, x),
    "loss": lambda: nn.CrossEntropyLoss()(x, t), "embedding": lambda: nn.Embedding(3, 4, device="npu")(t), "weights": lambda: torch.bincount(t.npu(), y[:, 0]),
    "layer": lambda: nn.Linear(4, 4)(x), "mask": lambda: x.masked_select(y > 0), "rows of the CPU": lambda: y[t.npu()], "mask of the device": lambda: y[x > 0],
    "values": lambda: put(t, y), "number": lambda: torch.tensor(2.0).add_(x.sum()), "out": lambda: torch.add(x, x, out=y),
    "factory": lambda: torch.zeros(3, device="cpu", out=torch.empty(3, device="npu")),
}
FREE = [
    lambda: x[t], lambda: x[y > 0], lambda: put(t, 1.0), lambda: put(y > 0, torch.tensor(2.0)), lambda: x + torch.tensor(2.0), lambda: y.copy_(x),
    lambda: torch.where(x > 0, x, torch.tensor(0.0)), lambda: x.masked_fill(x > 0, torch.tensor(1.0)), lambda: torch.zeros(3, out=torch.empty(3, device="npu")),
    lambda: x.select_scatter(torch.ones(4), 0, 1), lambda: put(slice(0, 2), y[:2]), lambda: y[torch.tensor(1).npu()],
]
for call in FREE:
    call()
found = {}
for name, call in CALLS.items():
    try:
        call()
    except RuntimeError as error:
        found[name] = str(error)
print(json.dumps(found))
"""
SAME = "Expected all tensors to be on the same device, but "
INDEX = SAME + "got index is on cpu, different from other tensors on npu:0 (when checking argument in method wrapper_NPU_"
TWO = SAME + "found at least two devices, npu:0 and cpu!"
ROWS = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
WORDS = {
    "gather": INDEX + "gather)", "aten": INDEX + "gather)", "in place": INDEX + "index_add)", "embedding": INDEX + "_index_select)",
    "loss": INDEX.replace("index", "target") + "nll_loss_forward)", "weights": INDEX.replace("index", "weights") + "_bincount)",
    "layer": INDEX.replace("index", "weight") + "addmm)", "mask": INDEX.replace("index", "mask") + "_masked_select)", "rows of the CPU": ROWS,
    "mask of the device": ROWS, "values": TWO, "number": TWO, "out": SAME + "got out is on cpu, different from other tensors on npu:0",
    "factory": "device type cpu does not match device type of out parameter (npu)",
}  # fmt: skip


def _on_device(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_FAKE_DEVICE": "Ascend"}
    done = warm.done(*command, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


def test_words() -> None:
    assert json.loads(_on_device("-c", PROGRAM)) == WORDS


@pytest.mark.long
@pytest.mark.slow
def test_every_operator() -> None:
    assert json.loads(_on_device("-m", "tests.devices.apart")) == []
