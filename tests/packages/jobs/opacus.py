"""Jobs of opacus."""
from __future__ import annotations

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.validators import ModuleValidator


def job_grad_samples():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 16, 3))
    wrapped = GradSampleModule(net)
    torch.nn.functional.cross_entropy(wrapped(torch.randn(5, 2, 6, 6)), torch.tensor([0, 1, 2, 0, 1])).backward()
    return [p.grad_sample for p in wrapped.parameters()]


def job_private_training():
    torch.manual_seed(0)
    net = ModuleValidator.fix(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,))), 8)
    engine = PrivacyEngine(accountant="rdp")
    net, optimizer, loader = engine.make_private(module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
                                                 noise_generator=torch.Generator().manual_seed(3), poisson_sampling=False)  # fmt: skip
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, list(net.parameters()), engine.get_epsilon(1e-5)
