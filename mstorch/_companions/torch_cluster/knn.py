"""torch_cluster.knn: the nearest points."""
from __future__ import annotations

import mstorch as torch

from .points import Batch, check_flow, pairs, rows

Tensor = torch.Tensor


def knn(
    x: Tensor, y: Tensor, k: int, batch_x: Batch = None, batch_y: Batch = None, cosine: bool = False,
    num_workers: int = 1, batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Return for each point of ``y`` the ``k`` nearest of ``x`` in its example, nearest first: (2, pairs) of places in ``y`` and ``x``."""
    x, y = rows(x), rows(y)
    found = [torch.empty(2, 0, dtype=torch.int64, device=x.device)]
    with torch.no_grad():
        for start, first, far in pairs(x, y, batch_x, batch_y, batch_size, cosine):
            near = far.sort(dim=1, stable=True).indices[:, :k]
            row = torch.arange(start, start + far.shape[0], device=x.device)[:, None].expand_as(near)
            found.append(torch.stack([row.reshape(-1), (near + first).reshape(-1)]))
    return torch.cat(found, 1)


def knn_graph(
    x: Tensor, k: int, batch: Tensor | None = None, loop: bool = False, flow: str = "source_to_target", cosine: bool = False,
    num_workers: int = 1, batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the edges from each point's ``k`` nearest to it, or to them; with ``loop``, a point is its own nearest."""
    check_flow(flow)
    row, column = knn(x, x, k if loop else k + 1, batch, batch, cosine, num_workers, batch_size)
    if flow == "source_to_target":
        row, column = column, row
    if not loop:
        differ = row != column
        row, column = row[differ], column[differ]
    return torch.stack([row, column])


__all__ = ["knn", "knn_graph"]
