"""Jobs of torchsde."""
from __future__ import annotations

import torch
import torchsde


class Drift(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.mean, self.spread = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.mean(y)

    def g(self, t, y):
        return torch.sigmoid(self.spread(y))


def job_solvers():
    equation, start, times = Drift(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 5)
    results = []
    for method in ("srk", "milstein", "euler"):
        motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=5, levy_area_approximation="space-time")
        solved = torchsde.sdeint(equation, start, times, bm=motion, dt=0.1, method=method)
        results += [solved, *torch.autograd.grad(solved.sum(), list(equation.parameters()))]
    motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=6)
    torchsde.sdeint_adjoint(equation, start, times, bm=motion, dt=0.1, method="milstein").sum().backward()
    return results, [parameter.grad for parameter in equation.parameters()]
