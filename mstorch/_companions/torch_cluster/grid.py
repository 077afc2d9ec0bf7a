"""torch_cluster.grid: the cell of a grid that each point is in."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def grid_cluster(pos: Tensor, size: Tensor, start: Tensor | None = None, end: Tensor | None = None) -> Tensor:
    """Return the number of each point's cell; the first coordinate varies fastest. The grid extends from the lowest coordinates to the
    highest, unless given."""
    pos = pos.view(pos.shape[0], -1)
    if size.numel() != pos.shape[1] or start is not None and start.numel() != pos.shape[1]:
        raise RuntimeError(f"the grid's sizes must be as many as the {pos.shape[1]} coordinates")
    low = pos.min(0).values if start is None else start
    high = pos.max(0).values if end is None else end
    cells = ((high - low) / size).long() + 1
    steps = torch.cat([cells.new_ones(1), cells.cumprod(0)[:-1]])
    return (((pos - low) / size).long() * steps).sum(1)


__all__ = ["grid_cluster"]
