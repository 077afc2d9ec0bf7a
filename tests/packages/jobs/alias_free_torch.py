"""Jobs of alias_free_torch."""

from __future__ import annotations

import torch
from alias_free_torch import Activation1d, Activation2d, DownSample1d, UpSample2d


def job_activations():
    torch.manual_seed(0)
    line, plane = torch.randn(2, 3, 40, requires_grad=True), torch.randn(1, 2, 12, 12, requires_grad=True)
    a, b = Activation1d(torch.nn.SiLU())(line), Activation2d(torch.nn.LeakyReLU())(plane)
    (a.square().sum() + b.square().sum()).backward()
    return [a, b, line.grad, plane.grad, DownSample1d(2)(line.detach()), UpSample2d(2)(plane.detach())]
