"""Jobs of norse."""

from __future__ import annotations

import torch
from norse.torch.functional.encode import poisson_encode
from norse.torch.module.leaky_integrator import LICell
from norse.torch.module.lif import LIFCell, LIFLayer


class Spiking(torch.nn.Module):
    """A convolution, spikes and a leaky integrator, a step at a time."""

    def __init__(self):
        super().__init__()
        self.picture = torch.nn.Conv2d(1, 4, 3)
        self.spikes = LIFLayer(4 * 36, 8)
        self.readout = LICell(8, 5)

    def forward(self, steps):
        seen = torch.stack([self.picture(step).flatten(1) for step in steps])
        spikes, _ = self.spikes(seen)
        state, outputs = None, []
        for step in spikes:
            output, state = self.readout(step, state)
            outputs.append(output)
        return torch.stack(outputs)


def job_spikes():
    torch.manual_seed(0)
    net = Spiking()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    x = torch.rand(7, 3, 1, 8, 8) * 20
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(net(x).max(0).values, torch.tensor([0, 1, 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    spikes, state = LIFCell(6, 4)(torch.rand(2, 6) * 10)
    return [losses, spikes, state.v, poisson_encode(torch.rand(5), 4)]
