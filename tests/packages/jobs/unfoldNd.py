"""Jobs of unfoldNd."""

from __future__ import annotations

import torch
import unfoldNd


def job_windows():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 5, 4, requires_grad=True)
    columns = unfoldNd.unfoldNd(x, (2, 3, 2), padding=1, stride=(2, 1, 1))
    columns.square().sum().backward()
    back = unfoldNd.foldNd(columns, (6, 5, 4), (2, 3, 2), padding=1, stride=(2, 1, 1))
    return [
        columns,
        x.grad,
        back,
        unfoldNd.UnfoldNd(3, dilation=2)(torch.randn(2, 3, 11)),
        unfoldNd.UnfoldTransposeNd((2, 2), stride=2)(torch.randn(1, 2, 3, 3)),
    ]
