"""Jobs of schedulefree."""
from __future__ import annotations

import schedulefree
import torch


def job_optimizers():
    found = {}
    for name in ("SGDScheduleFree", "AdamWScheduleFree", "RAdamScheduleFree", "AdamWScheduleFreeReference", "SGDScheduleFreeReference", "AdamWScheduleFreeClosure"):
        if not hasattr(schedulefree, name):
            continue
        torch.manual_seed(0)
        net, x, losses = torch.nn.Linear(6, 2), torch.randn(8, 6), []
        optimizer = getattr(schedulefree, name)(net.parameters(), lr=0.1)

        def closure(net=net, x=x, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            return loss

        for _ in range(4):
            if name.endswith("Closure"):
                losses.append(optimizer.step(closure).item())
                continue
            optimizer.train()
            losses.append(closure().item())
            optimizer.step()
        getattr(optimizer, "eval", lambda: None)()
        torch.save(optimizer.state_dict(), "optimizer.pt")
        optimizer.load_state_dict(torch.load("optimizer.pt", weights_only=False))
        found[name] = (losses, net(x))
    return found
