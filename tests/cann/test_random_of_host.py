"""MSTORCH_DEVICE_RANDOM=host on MindSpore's Ascend plugin: the device's random numbers are those of the CPU, and so torch's."""
from __future__ import annotations

from typing import Any

import torch as real_torch

import mstorch
from tests.cann.plugin import on_plugin


def _trained(torch: Any, device: str) -> list[float]:
    torch.manual_seed(5)
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 2)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    losses = []
    for _ in range(3):
        x, noise = torch.rand(8, 6, device=device), torch.randn(8, 6, device=device)
        picked = torch.randint(0, 2, (8,), device=device)
        loss = torch.nn.functional.cross_entropy(net(x + 0.1 * noise), picked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@on_plugin(MSTORCH_DEVICE_RANDOM="host")
def test_training_with_dropout_and_noise_is_torchs() -> None:
    losses = _trained(mstorch, "npu")
    assert max(abs(one - other) for one, other in zip(losses, _trained(real_torch, "cpu"), strict=True)) < 1e-5


@on_plugin(MSTORCH_DEVICE_RANDOM="host")
def test_fills_generators_and_states_are_torchs() -> None:
    drawn = []
    for torch, device in ((mstorch, "npu"), (real_torch, "cpu")):
        torch.manual_seed(7)
        generator = torch.Generator(device).manual_seed(3)
        rows = [torch.rand(4, device=device, generator=generator), torch.empty(4, device=device).normal_(), torch.randperm(5, device=device),
                torch.bernoulli(torch.full((6,), 0.5, device=device)), torch.multinomial(torch.ones(4, device=device), 2),
                torch.empty(3, device=device).exponential_(), torch.randn_like(torch.ones(3, device=device))]  # fmt: skip
        state = torch.get_rng_state()
        rows += [torch.rand(2, device=device)]
        torch.set_rng_state(state)
        rows += [torch.rand(2, device=device), torch.rand(2)]
        assert all(row.device.type == device for row in rows[:-1])
        drawn.append([row.tolist() for row in rows])
    assert drawn[0] == drawn[1]
