"""Jobs of lpips."""

from __future__ import annotations

import lpips
import torch


def job_distances():
    torch.manual_seed(0)
    net = lpips.LPIPS(pretrained=False, pnet_rand=True, net="squeeze", verbose=False)
    x, y = torch.rand(2, 3, 64, 64, requires_grad=True), torch.rand(2, 3, 64, 64)
    distance = net(x, y, normalize=True)
    distance = distance if distance.dim() else distance[None]
    distance.sum().backward()
    return [distance, x.grad]
