"""Jobs of nflows."""
from __future__ import annotations

import torch
from nflows import distributions, flows, transforms
from nflows.nn.nets import ResidualNet


def job_density():
    mask = torch.tensor([1, 0, 1, 0])
    transform = transforms.CompositeTransform([
        transforms.MaskedAffineAutoregressiveTransform(4, 16),
        transforms.RandomPermutation(4),
        transforms.PiecewiseRationalQuadraticCouplingTransform(
            mask, lambda i, o: ResidualNet(i, o, hidden_features=16), tails="linear", tail_bound=3.0
        ),
    ])  # fmt: skip
    flow = flows.Flow(transform, distributions.StandardNormal([4]))
    optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
    losses = []
    for _ in range(4):
        loss = -flow.log_prob(torch.randn(32, 4)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, flow.sample(3)
