"""Jobs of botorch."""
from __future__ import annotations

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood


def job_optimisation():
    torch.manual_seed(0)
    x = torch.rand(10, 2, dtype=torch.float64)
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    new = torch.rand(5, 1, 2, dtype=torch.float64)
    bounds = torch.stack([torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)])
    found = [UpperConfidenceBound(model, beta=0.1)(new), LogExpectedImprovement(model, y.max())(new), qLogExpectedImprovement(model, y.max())(new)]
    candidate, value = optimize_acqf(UpperConfidenceBound(model, beta=0.1), bounds=bounds, q=1, num_restarts=3, raw_samples=16)
    posterior = model.posterior(new[:, 0])
    # The last bits decide where an optimizer in double precision ends.
    return [torch.round(one, decimals=2) for one in (*found, candidate, value, posterior.mean, posterior.variance)]


def job_acquisition():
    torch.manual_seed(0)
    x = torch.rand(8, 2, dtype=torch.float64)
    model = SingleTaskGP(x, x.sum(-1, keepdim=True).sin()).eval()
    new = torch.rand(4, 1, 2, dtype=torch.float64, requires_grad=True)
    found = [UpperConfidenceBound(model, beta=0.1)(new), LogExpectedImprovement(model, 0.5)(new), qLogExpectedImprovement(model, 0.5)(new)]
    sum(one.sum() for one in found).backward()
    torch.save(model.state_dict(), "model.pt")
    model.load_state_dict(torch.load("model.pt"))
    return found, new.grad, model.posterior(new.detach()).rsample(torch.Size([2]))
