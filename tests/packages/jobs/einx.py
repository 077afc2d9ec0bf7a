"""Jobs of einx."""
from __future__ import annotations

import einx
import torch


def job_operations():
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    found = [
        einx.id("a b c -> c (a b)", x), einx.sum("a [b] c", x), einx.mean("a b [c]", x), einx.dot("a b [c], [c] d -> a b d", x, w),
        einx.add("a b c, c", x, w[:, 0]), einx.multiply("a b c, a -> c b a", x, x[:, 0, 0]), einx.softmax("a b [c]", x), einx.max("a [b c]", x),
    ]  # fmt: skip
    sum(one.square().sum() for one in found).backward()
    return [*found, x.grad, w.grad]
