"""Jobs of torchsurv."""

from __future__ import annotations

import torch
from torchsurv.loss import cox, weibull
from torchsurv.metrics.auc import Auc
from torchsurv.metrics.cindex import ConcordanceIndex
from torchsurv.stats.kaplan_meier import KaplanMeierEstimator


def job_losses():
    torch.manual_seed(0)
    event, time = torch.rand(20) > 0.4, torch.randint(1, 12, (20,)).float()
    risk = torch.randn(20, requires_grad=True)
    shape = torch.randn(20, 2, requires_grad=True)
    losses = [cox.neg_partial_log_likelihood(risk, event, time, ties_method=ties) for ties in ("efron", "breslow")] + [
        weibull.neg_log_likelihood_weibull(shape, event, time)
    ]
    sum(losses).backward()
    index = ConcordanceIndex()
    estimator = KaplanMeierEstimator()
    estimator(event, time)
    return [
        losses,
        risk.grad,
        shape.grad,
        index(risk.detach(), event, time),
        index.confidence_interval(),
        Auc()(risk.detach(), event, time),
        estimator.km_est,
    ]
