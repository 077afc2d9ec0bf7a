"""torch_cluster.graclus: pairs of neighbouring nodes."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..drawing import array, generator, tensor
from .rw import compressed

Tensor = torch.Tensor


def matched(bounds: Array, columns: Array, weight: Array | None) -> Array:
    """Return the smaller node of each node's pair: in random order, a node is paired with the free neighbour of the largest weight, or
    with a free neighbour that is drawn; a node without one stays alone."""
    draw, size = generator(), len(bounds) - 1
    pair = np.full(size, -1, np.int64)
    for node in draw.permutation(size):
        if pair[node] >= 0:
            continue
        near = columns[bounds[node] : bounds[node + 1]]
        free = np.flatnonzero((pair[near] < 0) & (near != node))
        if not len(free):
            pair[node] = node
            continue
        best = free[weight[bounds[node] + free].argmax()] if weight is not None else free[draw.integers(len(free))]
        other = near[best]
        pair[node] = pair[other] = min(node, other)
    return pair


def graclus_cluster(row: Tensor, col: Tensor, weight: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
    """Return a cluster for each node, of at most two neighbours: the smaller of them. Heavy edges are preferred."""
    if num_nodes is None:
        num_nodes = max(int(row.max()), int(col.max())) + 1 if row.numel() else 0
    bounds, columns, order = compressed(row, col, num_nodes)
    weights = None if weight is None else array(weight.double() if weight.is_floating_point() else weight)[order]
    return tensor(matched(bounds, columns, weights), row)


__all__ = ["graclus_cluster", "matched"]
