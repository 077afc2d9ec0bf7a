"""Jobs of laplace-torch."""
from __future__ import annotations

import torch
from laplace import Laplace


def _fitted(kind, **options):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1 if kind == "regression" else 3))
    x = torch.randn(24, 2)
    y = x.sum(1, keepdim=True).sin() if kind == "regression" else torch.randint(0, 3, (24,))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 8)
    posterior = Laplace(net, kind, **options)
    posterior.fit(loader)
    evidence = posterior.log_marginal_likelihood()
    posterior.optimize_prior_precision(method="marglik", n_steps=5)
    torch.manual_seed(1)
    return evidence, posterior.prior_precision, posterior(torch.ones(2, 2), **({} if kind == "regression" else {"link_approx": "probit"}))


def job_posteriors():
    return [
        _fitted("regression", subset_of_weights="all", hessian_structure="full"), _fitted("classification", subset_of_weights="last_layer", hessian_structure="full"),
        _fitted("classification", subset_of_weights="last_layer", hessian_structure="kron"),
        _fitted("classification", subset_of_weights="all", hessian_structure="diag"),
    ]  # fmt: skip
