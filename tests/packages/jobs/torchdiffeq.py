"""Jobs of torchdiffeq."""
from __future__ import annotations

import torch
from torchdiffeq import odeint, odeint_adjoint


def job_solvers():
    field = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = field

        def forward(self, t, y):
            return self.net(y) * t

    times = torch.linspace(0, 1, 5)
    results = []
    for method in ("dopri5", "rk4", "euler", "adaptive_heun"):
        start = torch.tensor([[1.0, -0.5]], requires_grad=True)
        out = odeint(Field(), start, times, method=method, rtol=1e-4, atol=1e-4)
        out.sum().backward()
        results += [out, start.grad]
    start = torch.tensor([[1.0, -0.5]], requires_grad=True)
    odeint_adjoint(Field(), start, times, rtol=1e-4, atol=1e-4).sum().backward()
    return results, start.grad
