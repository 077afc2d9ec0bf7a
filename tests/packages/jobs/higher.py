"""Jobs of higher."""
from __future__ import annotations

import higher
import torch


def job_inner_loop():
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    with higher.innerloop_ctx(net, torch.optim.Adam(net.parameters(), 1e-2), copy_initial_weights=False) as (function, optimizer):
        for _ in range(3):
            optimizer.step(torch.nn.functional.mse_loss(function(x), y))
        loss = torch.nn.functional.mse_loss(function(x), y)
        loss.backward()
    return loss, [parameter.grad for parameter in net.parameters()]
