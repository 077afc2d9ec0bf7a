"""Programs that name the CPU, moved to the device."""
from __future__ import annotations

import io

import pytest

import mstorch as torch
from mstorch import nn
from mstorch.export.passes import move_to_device_pass
from tests.cann.plugin import on_plugin


class Placed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.zeros(x.size(0), 3, device="cpu") + torch.arange(3, device=torch.device("cpu"))
        return self.linear(x) + places.to("cpu") + self.shift


def _difference(program, x: torch.Tensor, want: torch.Tensor) -> float:
    found = program(x.to("npu"))
    assert found.device.type == "npu"
    return float((found.cpu() - want).abs().max())


@on_plugin
@pytest.mark.parametrize("location", ["npu", {"cpu": "npu:0"}])
def test_exported_programs(location) -> None:
    network, x = Placed(), torch.randn(2, 3)
    file = io.BytesIO()
    torch.export.save(torch.export.export(network, (x,)), file)
    file.seek(0)
    program = torch.export.load(file)
    assert move_to_device_pass(program, location) is program
    assert all(value.device.type == "npu" for value in program.state_dict.values())
    assert program.example_inputs[0][0].device.type == "npu"
    assert _difference(program.module(), x, network(x)) < 1e-6


@on_plugin
@pytest.mark.parametrize("make", ["script", "trace"])
def test_torchscript(make: str) -> None:
    network, x = Placed(), torch.randn(2, 3)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(network) if make == "script" else torch.jit.trace(network, (x,)), file)
    file.seek(0)
    assert _difference(torch.jit.load(file, map_location="npu"), x, network(x)) < 1e-6
    file.seek(0)
    assert torch.jit.load(file)(x).device.type == "cpu"
