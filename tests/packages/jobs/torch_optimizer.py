"""Jobs of torch-optimizer."""
from __future__ import annotations

import torch
import torch_optimizer


def job_optimizers():
    results = {}
    for name in ("AdaBound", "AdaMod", "DiffGrad", "Lamb", "NovoGrad", "QHAdam", "RAdam", "Yogi", "Ranger", "SGDW", "Shampoo", "Adahessian"):
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 3).double()  # Shampoo takes roots of nearly singular matrices
        optimizer = getattr(torch_optimizer, name)(net.parameters(), lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(2, 4).double()).pow(2).mean().backward(create_graph=name == "Adahessian")
            optimizer.step()
        results[name] = net.weight
    return results
