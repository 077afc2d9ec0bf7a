"""Jobs of captum."""
from __future__ import annotations

import torch
from captum.attr import DeepLift, FeatureAblation, GradientShap, IntegratedGradients, LayerGradCam, Occlusion, Saliency


def job_attributions():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 16, 3)).eval()
    x = torch.randn(2, 1, 6, 6)
    target = torch.tensor([0, 2])
    return [
        IntegratedGradients(net).attribute(x, target=target, n_steps=8), Saliency(net).attribute(x, target=target),
        DeepLift(net).attribute(x, torch.zeros_like(x), target=target), FeatureAblation(net).attribute(x, target=target),
        Occlusion(net).attribute(x, (1, 3, 3), target=target), LayerGradCam(net, net[0]).attribute(x, target=target),
        GradientShap(net).attribute(x, torch.zeros_like(x), target=target, n_samples=3),
    ]  # fmt: skip
