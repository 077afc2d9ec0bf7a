"""Jobs of neuraloperator."""
from __future__ import annotations

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO


def job_fourier_operator():
    torch.manual_seed(0)
    model = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
    x, y = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-3), []
    for loss_of in (LpLoss(d=2, p=2), H1Loss(d=2), LpLoss(d=2, p=2)):
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save(model.state_dict(), "fno.pt")
    model.load_state_dict(torch.load("fno.pt", weights_only=False))
    return losses, model.eval()(x)


def job_factorised():
    torch.manual_seed(0)
    model = FNO(n_modes=(4,), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, factorization="tucker", implementation="factorized", rank=0.5)
    out = model(torch.randn(2, 1, 16))
    out.square().mean().backward()
    return out, [p.grad.abs().sum() for p in model.parameters() if p.grad is not None]
