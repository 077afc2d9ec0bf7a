"""Jobs of auraloss."""

from __future__ import annotations

import auraloss
import torch


def job_losses():
    torch.manual_seed(0)
    heard = torch.randn(2, 1, 4096, requires_grad=True)
    target = torch.randn(2, 1, 4096)
    losses = [
        auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[256, 512], hop_sizes=[64, 128], win_lengths=[256, 512])(heard, target),
        auraloss.freq.STFTLoss(fft_size=512, hop_size=128, win_length=512)(heard, target),
        auraloss.time.SISDRLoss()(heard, target),
        auraloss.time.LogCoshLoss()(heard, target),
        auraloss.time.ESRLoss()(heard, target),
    ]
    sum(losses).backward()
    return [losses, heard.grad]
