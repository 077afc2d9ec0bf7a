"""Jobs of torchopt."""
from __future__ import annotations

import torch
import torchopt


def job_meta_step():
    net, x = torch.nn.Linear(3, 1), torch.randn(6, 3)
    optimizer = torchopt.MetaAdam(net, lr=0.1)
    first = net(x).pow(2).mean()
    optimizer.step(first)
    second = net(x).pow(2).mean()
    return first, second, list(net.parameters())
