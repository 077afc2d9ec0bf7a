"""torch_cluster.radius: the points within a distance."""
from __future__ import annotations

import mstorch as torch

from .points import Batch, check_flow, pairs, rows

Tensor = torch.Tensor


def radius(
    x: Tensor, y: Tensor, r: float, batch_x: Batch = None, batch_y: Batch = None, max_num_neighbors: int = 32,
    num_workers: int = 1, batch_size: int | None = None, ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """Return for each point of ``y`` those of ``x`` in its example nearer than ``r``, at most ``max_num_neighbors``, in their order: (2,
    pairs) of places in ``y`` and ``x``. With ``ignore_same_index``, a point is no neighbour of that of its place."""
    x, y = rows(x), rows(y)
    found = [torch.empty(2, 0, dtype=torch.int64, device=x.device)]
    with torch.no_grad():
        for start, first, far in pairs(x, y, batch_x, batch_y, batch_size):
            near = far < r * r
            row = torch.arange(start, start + far.shape[0], device=x.device)[:, None]
            if ignore_same_index:
                near &= row != torch.arange(first, first + far.shape[1], device=x.device)
            near &= near.cumsum(1) <= max_num_neighbors
            places = near.nonzero().t()
            found.append(torch.stack([places[0] + start, places[1] + first]))
    return torch.cat(found, 1)


def radius_graph(
    x: Tensor, r: float, batch: Tensor | None = None, loop: bool = False, max_num_neighbors: int = 32, flow: str = "source_to_target",
    num_workers: int = 1, batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the edges from each point's neighbours within ``r`` to it, or to them."""
    check_flow(flow)
    edges = radius(x, x, r, batch, batch, max_num_neighbors, num_workers, batch_size, not loop)
    return edges.flip(0) if flow == "source_to_target" else edges


__all__ = ["radius", "radius_graph"]
