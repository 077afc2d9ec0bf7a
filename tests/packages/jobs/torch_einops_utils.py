"""Jobs of torch-einops-utils."""
from __future__ import annotations

import torch
import torch_einops_utils as tools


def job_functions():
    torch.manual_seed(0)
    x = torch.randn(3, 4, 2, requires_grad=True)
    mask = tools.lens_to_mask(torch.tensor([1, 4, 2]), 4)
    packed, inverse = tools.pack_with_inverse(x, "* d")
    found = [
        tools.masked_mean(x, mask[..., None].expand_as(x)), tools.exclusive_cumsum(x), tools.reverse_cumsum(x, dim=1), tools.pad_at_dim(x, (1, 2), dim=1),
        tools.shift_right(x, dim=1), tools.slice_left_at_dim(x, 2, dim=1), packed, inverse(packed * 2), tools.safe_cat([x, None, x], dim=1),
    ]  # fmt: skip
    sum(one.square().sum() for one in found).backward()
    return [*found, mask, x.grad, tools.pad_sequence([torch.ones(2), torch.ones(3)])]
