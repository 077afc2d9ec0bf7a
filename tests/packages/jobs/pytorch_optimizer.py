"""Jobs of pytorch_optimizer."""
from __future__ import annotations

import pytorch_optimizer
import torch

NAMES = ("adabelief", "adan", "adopt", "came", "lion", "lamb", "madgrad", "radam", "ranger21", "sophiah", "prodigy", "schedulefreeadamw", "shampoo", "soap",
         "muon", "tiger", "yogi", "stableadamw", "galore", "ademamix", "mars", "grams", "apollo", "kron")  # fmt: skip


def _net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2, bias=False))


def _trained(name):
    net = _net()
    options = {} if name not in ("ranger21",) else {"num_iterations": 10}
    if name == "muon":
        groups = [{"params": [p for p in net.parameters() if p.ndim == 2], "use_muon": True}, {"params": [p for p in net.parameters() if p.ndim < 2], "use_muon": False}]
        optimizer = pytorch_optimizer.load_optimizer(name)(groups, lr=1e-2)
    else:
        optimizer = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=1e-2, **options)
    getattr(optimizer, "train", lambda: None)()
    torch.manual_seed(1)
    x, losses = torch.randn(16, 6), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward(create_graph=name == "sophiah")
        optimizer.step()
        losses.append(loss.item())
    return losses


def job_optimizers():
    return {name: _trained(name) for name in NAMES if name in pytorch_optimizer.get_supported_optimizers()}


def job_schedulers_and_losses():
    net = _net()
    optimizer = pytorch_optimizer.Lookahead(pytorch_optimizer.load_optimizer("adamp")(net.parameters(), lr=1e-2))
    schedule = pytorch_optimizer.CosineAnnealingWarmupRestarts(optimizer, first_cycle_steps=4, max_lr=0.1, min_lr=0.01, warmup_steps=2)
    x, target = torch.randn(8, 6), torch.randint(0, 2, (8, 2)).float()
    rates = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = pytorch_optimizer.BCEFocalLoss()(net(x).sigmoid(), target)
        loss.backward()
        optimizer.step()
        schedule.step()
        rates.append((loss.item(), optimizer.param_groups[0]["lr"]))
    torch.save(optimizer.state_dict(), "optimizer.pt")
    optimizer.load_state_dict(torch.load("optimizer.pt"))
    return rates, net(x)
