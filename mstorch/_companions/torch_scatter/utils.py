"""torch_scatter.utils: an index for each element."""
from __future__ import annotations

import mstorch as torch


def broadcast(src: torch.Tensor, other: torch.Tensor, dim: int) -> torch.Tensor:
    """Return an index of one dimension, which is ``other``'s ``dim``, or of more, expanded to the shape of ``other``."""
    dim = other.dim() + dim if dim < 0 else dim
    if src.dim() == 1:
        src = src.view(*[1] * dim, -1)
    return src.view(*src.shape, *[1] * (other.dim() - src.dim())).expand(other.shape)


__all__ = ["broadcast"]
