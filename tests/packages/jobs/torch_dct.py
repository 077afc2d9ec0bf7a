"""Jobs of torch_dct."""

from __future__ import annotations

import torch
import torch_dct


def job_transforms():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    y = torch_dct.dct_2d(x, norm="ortho")
    y.abs().sum().backward()
    layer = torch_dct.LinearDCT(8, "dct", norm="ortho")
    return [
        y,
        x.grad,
        torch_dct.idct_2d(y, norm="ortho"),
        torch_dct.dct_3d(x.detach()),
        torch_dct.dct1(x.detach()),
        torch_dct.idct(x.detach()),
        layer(x.detach()),
        torch_dct.apply_linear_2d(x.detach(), layer),
    ]
