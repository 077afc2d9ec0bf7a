"""Jobs of accelerate."""
from __future__ import annotations

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def job_training():
    set_seed(5)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 3), torch.randn(16, 1)), 4, shuffle=True)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(net):
                loss = torch.nn.functional.mse_loss(net(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    accelerator.save_state("state")
    accelerator.load_state("state")
    return losses, [p for p in accelerator.unwrap_model(net).parameters()], str(accelerator.device), accelerator.num_processes  # noqa: C416
