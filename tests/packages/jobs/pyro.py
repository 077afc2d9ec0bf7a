"""Jobs of pyro."""
from __future__ import annotations

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

DATA = torch.tensor([1.0, 2.0, 1.5, 0.5, 1.2])


def _model(data):
    mean = pyro.sample("mean", dist.Normal(0.0, 2.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Normal(mean, scale), obs=data)


def job_svi():
    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    guide = AutoNormal(_model)
    svi = SVI(_model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [svi.step(DATA) for _ in range(20)]
    return losses, {name: value for name, value in pyro.get_param_store().items()}  # noqa: C416


def job_nuts():
    pyro.set_rng_seed(1)
    sampler = MCMC(NUTS(_model), num_samples=5, warmup_steps=5, disable_progbar=True)
    sampler.run(DATA)
    return sampler.get_samples()
