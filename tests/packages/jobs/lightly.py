"""Jobs of lightly."""
from __future__ import annotations

import torch
from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.models.modules import (
    BYOLPredictionHead,
    BYOLProjectionHead,
    DINOProjectionHead,
    SimCLRProjectionHead,
    SwaVPrototypes,
)
from lightly.models.utils import deactivate_requires_grad, update_momentum


def job_losses():
    torch.manual_seed(0)
    a, b = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16, requires_grad=True)
    found = [kind()(a, b) for kind in (NTXentLoss, BarlowTwinsLoss, NegativeCosineSimilarity, VICRegLoss)]
    found.append(NTXentLoss(memory_bank_size=(32, 16))(a, b))
    found.append(DINOLoss(output_dim=16)([a.detach(), b.detach()], [a, b], epoch=0))
    prototypes = SwaVPrototypes(16, 8)
    found.append(SwaVLoss()([prototypes(a), prototypes(b)], [prototypes(a), prototypes(b)]))
    sum(found).backward()
    return found, a.grad, b.grad


def job_training():
    import copy

    torch.manual_seed(0)
    backbone = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    head, predictor, simclr = BYOLProjectionHead(8, 16, 8), BYOLPredictionHead(8, 16, 8), SimCLRProjectionHead(8, 8, 8)
    slow, slow_head = copy.deepcopy(backbone), copy.deepcopy(head)
    deactivate_requires_grad(slow)
    deactivate_requires_grad(slow_head)
    optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters(), *predictor.parameters(), *simclr.parameters()], 0.05)
    x, losses = torch.randn(6, 3, 8, 8), []
    for _ in range(3):
        update_momentum(backbone, slow, 0.9)
        update_momentum(head, slow_head, 0.9)
        loss = NegativeCosineSimilarity()(predictor(head(backbone(x))), slow_head(slow(x.flip(-1))).detach())
        loss = loss + NTXentLoss()(simclr(backbone(x)), simclr(backbone(x.flip(-1))))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, slow(x), DINOProjectionHead(8, 16, 8, 4)(backbone(x))
