"""Jobs of ema_pytorch."""

from __future__ import annotations

import torch
from ema_pytorch import EMA, PostHocEMA


def job_averages():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    ema = EMA(net, beta=0.9, update_after_step=1, update_every=1)
    later = PostHocEMA(net, sigma_rels=(0.05, 0.3), update_every=1, checkpoint_every_num_steps=2, checkpoint_folder="./ema")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(6):
        net(torch.randn(8, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        ema.update()
        later.update()
    x = torch.randn(8, 3)
    return [ema(x), ema.ema_model[0].weight, sorted(ema.state_dict())[:3], later.synthesize_ema_model(sigma_rel=0.15)(x)]
