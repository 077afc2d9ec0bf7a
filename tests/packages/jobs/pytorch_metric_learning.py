"""Jobs of pytorch-metric-learning."""
from __future__ import annotations

import torch
from pytorch_metric_learning import losses, miners


def job_losses():
    embeddings, labels = torch.randn(16, 8, requires_grad=True), torch.arange(16) % 4
    kinds = [
        losses.TripletMarginLoss(), losses.ContrastiveLoss(), losses.MultiSimilarityLoss(), losses.NTXentLoss(), losses.SupConLoss(),
        losses.CircleLoss(), losses.ArcFaceLoss(4, 8), losses.ProxyAnchorLoss(4, 8), losses.LiftedStructureLoss(), losses.FastAPLoss(),
        losses.MarginLoss(), losses.SoftTripleLoss(4, 8), losses.CosFaceLoss(4, 8), losses.AngularLoss(), losses.TupletMarginLoss(),
    ]  # fmt: skip
    results = []
    for kind in kinds:
        loss = kind(embeddings, labels)
        results += [loss, *torch.autograd.grad(loss, embeddings)]
    return results, miners.MultiSimilarityMiner()(embeddings, labels), miners.BatchHardMiner()(embeddings, labels)
