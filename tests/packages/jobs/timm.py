"""Jobs of timm."""
from __future__ import annotations

import timm
import torch
from timm.optim import create_optimizer_v2


def _model(name, kind=torch.float32, size=32, **options):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=7, **options).to(kind)
    x = torch.randn(2, 3, size, size).to(kind)
    model.train()
    out = model(x)
    torch.nn.functional.cross_entropy(out, torch.tensor([1, 5])).backward()
    total = sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)
    return out, total, model.eval()(x), sum(p.numel() for p in model.parameters())


def job_resnet():
    # One of its last activations is zero up to rounding: in single precision the processor decides its sign before ReLU.
    return _model("resnet10t", torch.float64, size=96)


def job_vit():
    return _model("vit_tiny_patch16_224", img_size=32, depth=2)


def job_efficientnet():
    # Its last batch norms see two values here, and the last bit of single precision decides which sign results.
    return _model("efficientnet_lite0", torch.float64)


def job_convnext():
    return _model("convnext_atto")


def job_optimizers():
    results = {}
    for name in ("adamw", "sgd", "lamb", "lion", "adabelief", "adafactor", "nadamw", "radam", "madgrad", "adan", "lars", "adopt"):
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 3)
        optimizer = create_optimizer_v2(net, opt=name, lr=0.01, weight_decay=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).pow(2).mean().backward()
            optimizer.step()
        results[name] = net.weight
    return results


def job_features():
    model = timm.create_model("resnet10t", pretrained=False, features_only=True).eval()
    return model(torch.randn(1, 3, 32, 32))
