"""Jobs of POT."""
from __future__ import annotations

import ot
import torch


def job_transport():
    x, y, weights = torch.randn(8, 2, requires_grad=True), torch.randn(8, 2), torch.ones(8) / 8
    costs = ot.dist(x, y)
    distance = ot.emd2(weights, weights, costs)
    plans = [ot.sinkhorn(weights, weights, costs, 0.5), ot.bregman.sinkhorn_log(weights, weights, costs, 0.5)]
    sliced = ot.sliced_wasserstein_distance(x, y, seed=1)
    return costs, distance, torch.autograd.grad(distance, x), plans, sliced, ot.gromov.gromov_wasserstein2(costs, costs.T, weights, weights)
