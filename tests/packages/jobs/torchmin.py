"""Jobs of torchmin."""

from __future__ import annotations

import torch
from torchmin import Minimizer, least_squares, minimize, minimize_constr
from torchmin.benchmarks import rosen


def job_minima():
    start = torch.tensor([1.0, 8.0, -2.0], dtype=torch.float64)
    minima = [
        minimize(rosen, start, method=method, max_iter=60)
        for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact")
    ]
    fitted = least_squares(lambda x: torch.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), torch.tensor([2.0, 2.0], dtype=torch.float64))
    bounded = minimize_constr(rosen, start, max_iter=30, bounds=(0.0, 1.5))
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = Minimizer([parameter], method="bfgs")

    def closure():
        optimizer.zero_grad()
        loss = (parameter - torch.arange(3.0)).square().sum()
        return loss

    optimizer.step(closure)
    return [[one.fun, one.success] for one in minima], fitted.x, bounded.x.round(decimals=3), parameter
