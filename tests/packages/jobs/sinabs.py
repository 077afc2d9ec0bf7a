"""Jobs of sinabs."""

from __future__ import annotations

import sinabs.layers as layers
import torch
from sinabs.from_torch import from_model


def job_spikes():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(27, 4))
    spiking = from_model(net, input_shape=(1, 8, 8), batch_size=2)
    out = spiking((torch.rand(8, 1, 8, 8) > 0.5).float())
    lif = layers.LIF(tau_mem=10.0)
    x = torch.rand(2, 6, 5, requires_grad=True)
    spikes = lif(x)
    spikes.sum().backward()
    recurrent = layers.LIFRecurrent(tau_mem=10.0, rec_connect=torch.nn.Linear(5, 5))
    return [out, spikes, x.grad, layers.ExpLeak(tau_mem=5.0)(x.detach()), recurrent(x.detach() * 5)]
