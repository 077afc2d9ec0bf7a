"""torch_cluster.nearest: the nearest point."""
from __future__ import annotations

import mstorch as torch

from .points import Batch, pairs, rows

Tensor = torch.Tensor


def nearest(x: Tensor, y: Tensor, batch_x: Batch = None, batch_y: Batch = None) -> Tensor:
    """Return for each point of ``x`` the place of the nearest of ``y`` in its example. Raise ValueError if there is none."""
    x, y = rows(x), rows(y)
    found = [torch.empty(0, dtype=torch.int64, device=x.device)]
    with torch.no_grad():
        for _, first, far in pairs(y, x, batch_y, batch_x, None):
            if far.shape[0] and not far.shape[1]:
                raise ValueError("an example has points in x, and none in y")
            found.append(far.argmin(1) + first)
    return torch.cat(found)


__all__ = ["nearest"]
