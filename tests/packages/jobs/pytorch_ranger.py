"""Jobs of pytorch-ranger."""
from __future__ import annotations

import torch
from pytorch_ranger import Ranger, RangerQH, RangerVA


def job_optimizers():
    found = []
    for kind in (Ranger, RangerVA, RangerQH):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(32, 1))
        optimizer, x, losses = kind(net.parameters(), lr=1e-2), torch.randn(4, 1, 6, 6), []
        for _ in range(8):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        torch.save(optimizer.state_dict(), "optimizer.pt")
        optimizer.load_state_dict(torch.load("optimizer.pt", weights_only=False))
        found.append([losses, list(net.parameters())])
    return found
