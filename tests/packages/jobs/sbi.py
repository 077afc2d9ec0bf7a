"""Jobs of sbi."""
from __future__ import annotations

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform


def job_posterior():
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((200,))
    inference = NPE(prior=prior, density_estimator="maf", show_progress_bars=False)
    inference.append_simulations(theta, theta + 0.1 * torch.randn_like(theta)).train(max_num_epochs=2)
    posterior = inference.build_posterior()
    seen = torch.zeros(2)
    return theta[:3], posterior.sample((4,), x=seen, show_progress_bars=False), posterior.log_prob(torch.zeros(1, 2), x=seen)
