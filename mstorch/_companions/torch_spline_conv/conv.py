"""torch_spline_conv.conv: convolution over a graph's edges with weights chosen by splines of their coordinates."""
from __future__ import annotations

import mstorch as torch

from .basis import spline_basis
from .weighting import spline_weighting

Tensor = torch.Tensor


def spline_conv(
    x: Tensor, edge_index: Tensor, pseudo: Tensor, weight: Tensor, kernel_size: Tensor, is_open_spline: Tensor, degree: int = 1,
    norm: bool = True, root_weight: Tensor | None = None, bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return for each node the sum (the mean with ``norm``) over its edges to others of their features, weighted, and what the node itself
    and ``bias`` add."""
    x = x.unsqueeze(-1) if x.dim() == 1 else x
    pseudo = pseudo.unsqueeze(-1) if pseudo.dim() == 1 else pseudo
    row, col = edge_index
    basis, places = spline_basis(pseudo, kernel_size, is_open_spline, degree)
    terms = spline_weighting(x[col], weight, basis, places)
    out = x.new_zeros(x.shape[0], weight.shape[2]).index_add(0, row, terms)
    if norm:
        degrees = torch.bincount(row, minlength=x.shape[0]).clamp(min=1)
        out = out / degrees.to(out.dtype).unsqueeze(-1)
    if root_weight is not None:
        out = out + x @ root_weight
    return out if bias is None else out + bias


__all__ = ["spline_conv"]
