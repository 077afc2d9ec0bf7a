"""Jobs of tltorch."""

from __future__ import annotations

import tltorch
import torch


def job_factors():
    torch.manual_seed(0)
    answers = []
    for kind in ("CP", "Tucker", "TT"):
        tensor = tltorch.FactorizedTensor.new((4, 5, 6), rank=0.6, factorization=kind).normal_(std=0.1)
        loss = (tensor.to_tensor() - 1).square().mean()
        loss.backward()
        part = tensor[1:3]
        answers += [
            loss,
            tensor.to_tensor(),
            (part.to_tensor() if isinstance(part, tltorch.FactorizedTensor) else part),
            type(tensor).__name__,
        ]
    layer = tltorch.FactorizedLinear((2, 3), (3, 4), rank=0.5, factorization="cp")
    out = layer(torch.randn(2, 6))
    out.square().sum().backward()
    return [*answers, out, [p.grad for p in layer.parameters()], tltorch.TRL((3, 4), (2,), rank=0.9)(torch.randn(2, 3, 4))]
