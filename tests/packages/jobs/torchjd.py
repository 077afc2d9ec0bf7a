"""Jobs of torchjd."""

from __future__ import annotations

import torch
import torchjd.aggregation as agg
from torchjd.autojac import backward, jac_to_grad, mtl_backward


def job_jacobians():
    torch.manual_seed(0)
    x, y = torch.randn(16, 4), torch.randn(16, 2)
    answers = []
    for one in (agg.MGDA(), agg.PCGrad(), agg.AlignedMTL(), agg.IMTLG(), agg.Krum(1), agg.TrimmedMean(0), agg.Mean(), agg.ConFIG()):
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(2):
            losses = (net(x) - y).square().mean(0)
            losses = torch.stack([losses[0], losses[1], losses.sum(), losses.prod()])
            backward(losses)
            jac_to_grad(net.parameters(), one)
            optimizer.step()
            optimizer.zero_grad()
        answers.append(net[0].weight)
    shared, heads = torch.nn.Linear(4, 5), [torch.nn.Linear(5, 1) for _ in range(2)]
    features = shared(x)
    mtl_backward([(head(features).squeeze(1) - y[:, i]).square().mean() for i, head in enumerate(heads)], features=features)
    jac_to_grad(shared.parameters(), agg.MGDA())
    return [*answers, shared.weight.grad, heads[0].weight.grad]
