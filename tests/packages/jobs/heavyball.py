"""Jobs of heavyball."""

from __future__ import annotations

import heavyball
import torch

heavyball.utils.compile_mode = None


def job_optimizers():
    answers = []
    for name in ("AdamW", "ADOPT", "LaProp", "Muon", "SFAdamW", "NAdam", "SGD"):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        optimizer = getattr(heavyball, name)(net.parameters(), lr=1e-2)
        x, y = torch.randn(16, 4), torch.randn(16, 2)
        for _ in range(4):
            loss = (net(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        answers.append([loss, net[0].weight])
    return answers
