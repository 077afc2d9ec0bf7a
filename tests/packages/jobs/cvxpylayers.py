"""Jobs of cvxpylayers."""

from __future__ import annotations

import cvxpy as cp
import torch
from cvxpylayers.torch import CvxpyLayer


def job_layers():
    torch.manual_seed(0)
    x, a, b = cp.Variable(3), cp.Parameter((4, 3)), cp.Parameter(4)
    layer = CvxpyLayer(cp.Problem(cp.Minimize(cp.sum_squares(a @ x - b) + 0.1 * cp.norm1(x)), [x >= 0]), parameters=[a, b], variables=[x])
    operands = [torch.randn(4, 3, dtype=torch.float64, requires_grad=True), torch.randn(4, dtype=torch.float64, requires_grad=True)]
    (solved,) = layer(*operands)
    solved.sum().backward()
    return [solved.detach().round(decimals=3), [g.grad.round(decimals=2) for g in operands]]
