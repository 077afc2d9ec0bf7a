"""Jobs of torch_ema."""

from __future__ import annotations

import torch
from torch_ema import ExponentialMovingAverage


def job_averages():
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 2)
    ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
    optimizer = torch.optim.Adam(net.parameters(), 0.1)
    for _ in range(4):
        net(torch.randn(8, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
    x = torch.randn(4, 3)
    with ema.average_parameters():
        inside = net(x)
    ema.copy_to()
    return [inside, net(x), ema.shadow_params, sorted(ema.state_dict())]
