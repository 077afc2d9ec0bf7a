"""torch_cluster.rw: random walks."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..drawing import array, generator, tensor

Tensor = torch.Tensor


def _next_of(bounds: Array, columns: Array, node: Array, draw: np.random.Generator) -> Array:
    """Return an edge of each node; -1 for a node without edges."""
    degree = bounds[node + 1] - bounds[node]
    edge = bounds[node] + (draw.random(len(node)) * degree).astype(np.int64)
    return np.where(degree > 0, edge, -1)


def walks(
    bounds: Array, columns: Array, start: Array, length: int, p: float, q: float
) -> tuple[Array, Array]:  # fmt: skip
    """Return nodes (walks, length and one) and edges (walks, length) of walks. A walk stays at a node without edges, by the edge -1.

    With ``p`` or ``q`` a drawn node is kept by the chance that node2vec gives it, relative to the greatest of the three, and drawn again
    if not.
    """
    draw, size = generator(), len(bounds) - 1
    node = np.empty((len(start), length + 1), np.int64)
    edge = np.empty((len(start), length), np.int64)
    node[:, 0] = start
    plain = p == 1 and q == 1
    row = np.repeat(np.arange(size), np.diff(bounds))
    keys = np.sort(row * size + columns) if not plain else row
    greatest = max(1 / p, 1.0, 1 / q)
    for step in range(length):
        waiting = np.arange(len(start))
        while len(waiting):
            here = node[waiting, step]
            own = _next_of(bounds, columns, here, draw)
            there = np.where(own >= 0, columns[own] if len(columns) else here, here)
            node[waiting, step + 1], edge[waiting, step] = there, own
            if plain or step == 0:
                break
            before = node[waiting, step - 1]
            pair = before * size + there
            place = np.searchsorted(keys, pair)
            near = (place < len(keys)) & (keys[np.minimum(place, len(keys) - 1)] == pair) if len(keys) else np.zeros(len(pair), bool)
            chance = np.where(there == before, 1 / p, np.where(near, 1.0, 1 / q)) / greatest
            waiting = waiting[(draw.random(len(waiting)) >= chance) & (own >= 0)]
    return node, edge


def compressed(row: Tensor, col: Tensor, num_nodes: int) -> tuple[Array, Array, Array]:
    """Return bounds of rows, columns, and the order of the edges, by row."""
    rows, columns = array(row), array(col)
    order = np.argsort(rows, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=num_nodes))])
    return bounds, columns[order], order


def walked(rowptr: Tensor, col: Tensor, start: Tensor, walk_length: int, p: float = 1, q: float = 1) -> tuple[Tensor, Tensor]:
    """Return nodes and edges of walks in a graph in compressed rows."""
    node, edge = walks(array(rowptr), array(col), array(start), walk_length, p, q)
    return tensor(node, start), tensor(edge, start)


def random_walk(
    row: Tensor, col: Tensor, start: Tensor, walk_length: int, p: float = 1, q: float = 1, coalesced: bool = True,
    num_nodes: int | None = None, return_edge_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Return the nodes of walks of node2vec from ``start``, and the places of their edges with ``return_edge_indices``.

    Edges are sorted first by row and column with ``coalesced``, and must be by row without; places are of the sorted edges.
    """
    if num_nodes is None:
        num_nodes = max(int(item.max()) for item in (row, col, start) if item.numel()) + 1
    if coalesced:
        order = (row * num_nodes + col).argsort(stable=True)
        row, col = row[order], col[order]
    bounds, columns, _ = compressed(row, col, num_nodes)
    node, edge = (tensor(item, start) for item in walks(bounds, columns, array(start), walk_length, p, q))
    return (node, edge) if return_edge_indices else node


__all__ = ["compressed", "random_walk", "walked", "walks"]
