"""Jobs of einops."""
from __future__ import annotations

import torch
from einops import einsum, pack, rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce


def job_functions():
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    y = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3)
    z = reduce(x, "b c h w -> b c", "mean") + repeat(x[:, :, 0, 0], "b c -> b c k", k=2).sum(-1)
    w = einsum(y, torch.randn(18, 5), "b n d, d e -> b n e")
    (y.sum() + (z**2).sum() + w.sum()).backward()
    return y, z, w, pack([x, x], "b * h w")[0], x.grad


def job_layers():
    net = torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(12, 4), Rearrange("b (k d) -> b k d", k=2), Reduce("b k d -> b d", "max"))
    return net(torch.randn(5, 3, 2, 2))
