"""Jobs of loralib."""

from __future__ import annotations

import loralib
import torch


def job_adapters():
    torch.manual_seed(0)
    net = torch.nn.Sequential(loralib.Linear(6, 8, r=2), torch.nn.ReLU(), loralib.MergedLinear(8, 6, r=2, enable_lora=[True, False]))
    loralib.mark_only_lora_as_trainable(net, bias="lora_only")
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
    for _ in range(3):
        net(torch.randn(4, 6)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    x = torch.randn(4, 6)
    embedded = loralib.Embedding(10, 4, r=2)(torch.tensor([1, 2]))
    before = net(x)
    net.eval()
    picture = loralib.Conv2d(2, 3, 3, r=2)(torch.randn(1, 2, 6, 6))
    return [before, net(x), sorted(loralib.lora_state_dict(net)), embedded, picture]
