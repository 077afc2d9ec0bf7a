"""Programs of tests/devices that compare numbers with the CPU's, on MindSpore's plugin in place of the stand-in."""
from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import mstorch as torch
from tests.cann import build
from tests.cann.plugin import on_plugin

pytestmark = pytest.mark.slow


@on_plugin
@pytest.mark.parametrize(
    "program",
    [
        "guards.regions", "guards.overlaps", "guards.after_inference", "guards.attention", "guards.edges", "guards.multiples", "guards.losses",
        "guards.at_infinity", "guards.ways_round", "scattered.composed", "scattered.differing", "stand_in.operations", "stand_in.programs",
    ],
)  # fmt: skip
def test_program(program: str) -> None:
    module, name = program.split(".")
    assert getattr(importlib.import_module(f"tests.devices.{module}"), name)() == []


@on_plugin(MSTORCH_DEVICE_RANDOM="host")
def test_programs_that_draw() -> None:
    for program in ("one_kernel.values", "one_kernel.ends", "places.functions", "places.factories", "places.leaves", "places.sparse"):
        module, name = program.split(".")
        assert getattr(importlib.import_module(f"tests.devices.{module}"), name)() == [], program


@on_plugin
@pytest.mark.parametrize("weights", [None, [0.0, 1.0, 2.0]])
@pytest.mark.parametrize("twice", [False, True])
def test_batches_of_ignored_labels_have_gradients_of_zero(weights: list[float] | None, twice: bool) -> None:
    """The mean of no losses is NaN in torch; its gradient is 0 in every row, beside a network's other losses."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for shape, labels in (((4, 3), (4,)), ((1, 3, 2, 2), (1, 2, 2))):
            for smoothing in (0.0, 0.1):
                x = torch.arange(12.0, device="npu").to(dtype).reshape(shape).requires_grad_()
                weight = None if weights is None else torch.tensor(weights, device="npu", dtype=dtype)
                target = torch.full(labels, -100, device="npu")
                loss = torch.nn.functional.cross_entropy(x, target, weight, label_smoothing=smoothing)
                (slope,) = torch.autograd.grad(loss, x, create_graph=twice)
                assert loss.isnan() and slope.eq(0).all(), (dtype, shape, smoothing)


@on_plugin
def test_labels_beside_ignored_ones_have_the_gradients_of_the_cpu() -> None:
    for labels in ([-100, 2], [0, 1]):
        slopes = []
        for place in ("cpu", "npu"):
            x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 1.0, -1.0]], device=place, requires_grad=True)
            torch.nn.functional.cross_entropy(x, torch.tensor(labels, device=place)).backward()
            slopes.append(x.grad.cpu())
        torch.testing.assert_close(*slopes)


@pytest.mark.skipif(bool(build.missing()), reason=build.missing())
def test_the_stand_in_computes_on_the_cpu_beside_the_plugin() -> None:
    """Else writes into bfloat16 memory went into a copy of it."""
    program = """
import mindspore, mstorch as torch
t = torch.arange(6.0, device="npu").bfloat16().view(2, 3)
row = t[1]
t[:, [0, 2]] = t[:, [2, 0]].clone()
print(mindspore.get_context("device_target"), t.device, t.tolist(), row.tolist())
"""
    environment = {**build.environment(), "MSTORCH_FAKE_DEVICE": "Ascend"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ran.stdout.strip() == "CPU npu:0 [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]] [5.0, 4.0, 3.0]", ran.stderr[-2000:]
