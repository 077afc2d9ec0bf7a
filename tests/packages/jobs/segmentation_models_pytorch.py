"""Jobs of segmentation-models-pytorch."""
from __future__ import annotations

import segmentation_models_pytorch as smp
import torch


def job_unet():
    model = smp.Unet("resnet18", encoder_weights=None, classes=2).eval()
    x = torch.randn(2, 3, 64, 64)
    out = model(x)
    loss = smp.losses.DiceLoss("multiclass")(out, torch.randint(0, 2, (2, 64, 64)))
    loss.backward()
    return out, loss, sum(float(p.grad.abs().sum()) for p in model.parameters())
