"""Batch normalization with the mean and variance over all ranks' batches."""
from __future__ import annotations

import mstorch as torch

from ..._src.core.above import above
from .._group import ProcessGroup
from .._world import chosen
from . import functional


def normalized(
    input: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, running_mean: torch.Tensor | None,
    running_var: torch.Tensor, factor: float, eps: float, group: ProcessGroup | None
) -> torch.Tensor:
    """Normalize (N, C, *) with statistics over all ranks, and update the running statistics by ``factor``. Raise ValueError if all ranks
    together have at most one value per channel."""
    found = chosen(group)
    dims = [dim for dim in range(input.dim()) if dim != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    wide = input if input.dtype is torch.float64 else input.float()
    count = wide.new_full((1,), float(input.numel() // input.shape[1]))
    found.allreduce([count]).wait()
    if count.item() <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    mean = functional.all_reduce(wide.sum(dims), group=found) / count
    centred = wide - mean.view(shape)
    variance = functional.all_reduce(centred.square().sum(dims), group=found) / count
    if running_mean is not None:
        with torch.no_grad():
            unbiased = variance.detach() * (count / (count - 1))
            running_mean.mul_(1 - factor).add_(mean.detach().to(running_mean.dtype), alpha=factor)
            running_var.mul_(1 - factor).add_(unbiased.to(running_var.dtype), alpha=factor)
    result = centred * torch.rsqrt(variance + eps).view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    return result.to(input.dtype)


__all__ = ["normalized"]


above.normalized_together = normalized
