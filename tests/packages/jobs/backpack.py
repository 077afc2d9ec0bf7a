"""Jobs of backpack."""

from __future__ import annotations

import torch
from backpack import backpack, extend, extensions


def job_curvature():
    torch.manual_seed(0)
    net = extend(
        torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(18, 3))
    )
    lossfunc = extend(torch.nn.CrossEntropyLoss())
    loss = lossfunc(net(torch.randn(5, 1, 8, 8)), torch.tensor([0, 1, 2, 0, 1]))
    wanted = [
        extensions.BatchGrad(),
        extensions.BatchL2Grad(),
        extensions.SumGradSquared(),
        extensions.Variance(),
        extensions.DiagGGNExact(),
        extensions.KFLR(),
        extensions.DiagHessian(),
    ]
    with backpack(*wanted):
        loss.backward()
    names = ("grad_batch", "batch_l2", "sum_grad_squared", "variance", "diag_ggn_exact", "kflr", "diag_h")
    return [[getattr(p, name) for name in names] for p in net.parameters()]
