"""Jobs of torchcrf."""

from __future__ import annotations

import torch
from torchcrf import CRF


def job_tags():
    torch.manual_seed(0)
    crf = CRF(4, batch_first=True)
    emissions = torch.nn.Parameter(torch.randn(3, 6, 4))
    tags, mask = torch.randint(0, 4, (3, 6)), torch.arange(6) < torch.tensor([[6], [4], [2]])
    optimizer = torch.optim.SGD([emissions, *crf.parameters()], 0.1)
    losses = []
    for _ in range(4):
        loss = -crf(emissions, tags, mask=mask, reduction="token_mean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [losses, crf.decode(emissions, mask), crf.transitions]
