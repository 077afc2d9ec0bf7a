"""Jobs of entmax."""

from __future__ import annotations

import entmax
import torch


def job_functions():
    torch.manual_seed(0)
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 2, 5, 1])
    alpha = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    outputs = [
        entmax.sparsemax(x, dim=1),
        entmax.entmax15(x, dim=1),
        entmax.sparsemax(x, dim=1, k=3),
        entmax.entmax_bisect(x, alpha),
        entmax.normmax_bisect(x, 2.0),
        entmax.budget_bisect(x, 2.0),
    ]
    losses = [entmax.SparsemaxLoss()(x, target), entmax.Entmax15Loss()(x, target), entmax.EntmaxBisectLoss(1.5)(x, target)]
    (sum(o.square().sum() for o in outputs) + sum(losses)).backward()
    return [outputs, losses, x.grad, alpha.grad, torch.autograd.gradcheck(lambda v: entmax.entmax15(v, dim=1), (x,))]
