"""Jobs of torch_stoi."""

from __future__ import annotations

import torch
from torch_stoi import NegSTOILoss


def job_intelligibility():
    torch.manual_seed(0)
    target, heard = torch.randn(2, 12000), torch.randn(2, 12000, requires_grad=True)
    losses = [
        NegSTOILoss(sample_rate=10000, extended=extended, use_vad=vad, do_resample=False)(heard, target)
        for extended in (False, True)
        for vad in (False, True)
    ]
    sum(x.mean() for x in losses).backward()
    return [losses, heard.grad]
