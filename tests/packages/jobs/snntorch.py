"""Jobs of snntorch."""
from __future__ import annotations

import snntorch
import torch
from snntorch import functional, spikegen, surrogate


def job_spikes():
    first, second = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
    leaky = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid())
    synaptic = snntorch.Synaptic(alpha=0.8, beta=0.7, spike_grad=surrogate.atan())
    state, (current, potential) = leaky.init_leaky(), synaptic.init_synaptic()
    spikes, data, target = [], spikegen.rate(torch.rand(4, 6), num_steps=10), torch.tensor([0, 1, 2, 0])
    for step in range(10):
        x, state = leaky(first(data[step]), state)
        x, current, potential = synaptic(second(x), current, potential)
        spikes.append(x)
    out = torch.stack(spikes)
    loss = functional.ce_rate_loss()(out, target)
    loss.backward()
    return data, out, loss, first.weight.grad, float(functional.accuracy_rate(out, target))
