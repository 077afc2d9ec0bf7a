"""torch_cluster.sampler: some edges of each of some nodes."""
from __future__ import annotations

import math

import mstorch as torch

Tensor = torch.Tensor


def neighbor_sampler(start: Tensor, rowptr: Tensor, size: float) -> Tensor:
    """Return places of edges of each node of ``start``: that many of them, or that share if ``size`` is at most 1."""
    if not size > 0:
        raise ValueError(f"size must be a positive share or number, got {size}")
    edges = [torch.empty(0, dtype=torch.int64)]
    for node in start.tolist():
        first, stop = rowptr[node : node + 2].tolist()
        count = stop - first
        wanted = math.ceil(size * count) if size <= 1 else int(size)
        order = torch.randperm(count)
        edges.append(first + order[: min(wanted, count)])
    return torch.cat(edges).to(start.device)


__all__ = ["neighbor_sampler"]
