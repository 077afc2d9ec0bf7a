"""Jobs of lion_pytorch."""

from __future__ import annotations

import torch
from lion_pytorch import Lion


def job_steps():
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 3)
    optimizer = Lion(net.parameters(), lr=1e-3, weight_decay=1e-2)
    for _ in range(5):
        loss = net(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(optimizer.state_dict(), "lion.pt")
    again = Lion(net.parameters(), lr=1e-2)
    again.load_state_dict(torch.load("lion.pt"))
    return [net.weight, list(again.state.values())[0]["exp_avg"], again.param_groups[0]["lr"]]
