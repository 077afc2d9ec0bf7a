"""Jobs of pytorch_msssim."""

from __future__ import annotations

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim


def job_images():
    torch.manual_seed(0)
    x = torch.rand(2, 3, 176, 176, requires_grad=True)
    y = (x.detach() + 0.1 * torch.randn(2, 3, 176, 176)).clamp(0, 1)
    loss = 1 - ssim(x, y, data_range=1.0) + 1 - ms_ssim(x, y, data_range=1.0)
    loss.backward()
    return [
        loss,
        x.grad,
        SSIM(data_range=1.0, size_average=False, nonnegative_ssim=True)(x, y),
        MS_SSIM(data_range=1.0, win_sigma=1.0)(x, y),
    ]
