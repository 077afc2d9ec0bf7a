"""torch_sparse: samples, walks, parts and orders of the graph that a sparse matrix is."""
from __future__ import annotations

from typing import Any

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..drawing import array, generator, tensor
from ..pyg_lib.partition.growing import parts
from ..pyg_lib.sampler.choosing import chosen, edges_of, numbered
from ..pyg_lib.sampler.neighbours import Graph, induced
from ..torch_cluster.rw import walked
from .base import Stored

Tensor = torch.Tensor


def ordered(bounds: Array, columns: Array) -> Array:
    """Return nodes by reverse Cuthill and McKee's order: breadth first from nodes of few edges, those of few edges first, turned around."""
    size = len(bounds) - 1
    degree, seen, order = np.diff(bounds), np.zeros(size, bool), np.empty(size, np.int64)
    place = 0
    for start in np.argsort(degree, kind="stable"):
        if seen[start]:
            continue
        seen[start], order[place] = True, start
        head, place = place, place + 1
        while head < place:
            node = order[head]
            head += 1
            near = np.unique(columns[bounds[node] : bounds[node + 1]])
            near = near[~seen[near]]
            near = near[np.argsort(degree[near], kind="stable")]
            seen[near] = True
            order[place : place + len(near)] = near
            place += len(near)
    return order[::-1].copy()


def adjacent(
    rowptr: Tensor, col: Tensor, subset: Tensor, num_neighbors: int, replace: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return bounds of rows and columns of a sample of the neighbours of some nodes, the nodes (those first), and the edges. In a row
    columns ascend."""
    bounds, columns, nodes = array(rowptr), array(col), array(subset)
    group, edge = edges_of(bounds, nodes)
    kept = chosen(group, num_neighbors, generator(), replace)
    group, edge = group[kept], edge[kept]
    place, fresh = numbered(nodes, columns[edge])
    order = np.lexsort((place, group))
    ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(nodes)))])
    return tuple(tensor(item, subset) for item in (ends, place[order], np.concatenate([nodes, fresh]), edge[order]))  # type: ignore[return-value]


class Sampled(Stored):
    """A matrix as a graph: rows are nodes, and elements edges to columns."""

    def _graph(self) -> tuple[Array, Array]:
        return array(self.storage.rowptr()), array(self.storage.col())

    def sample(self, num_neighbors: int, subset: Tensor | None = None) -> Tensor:
        """Return for each row (of a subset) that many of its columns, with repetition: (rows, neighbours)."""
        bounds, columns = self._graph()
        rows = np.arange(len(bounds) - 1) if subset is None else array(subset)
        degree = (bounds[rows + 1] - bounds[rows])[:, None]
        place = bounds[rows][:, None] + (generator().random((len(rows), num_neighbors)) * degree).astype(np.int64)
        return tensor(columns[np.minimum(place, len(columns) - 1)], self.storage.col())

    def sample_adj(self, subset: Tensor, num_neighbors: int, replace: bool = False) -> tuple[Any, Tensor]:
        """Return the matrix of a sample of the neighbours of some nodes, all if the number is negative, and the nodes, those first."""
        rowptr, col, node, edge = adjacent(self.storage.rowptr(), self.storage.col(), subset, num_neighbors, replace)
        value = self.storage.value()
        sizes = (subset.numel(), node.numel())
        return type(self)(None, rowptr, col, None if value is None else value[edge], sizes, True), node

    def saint_subgraph(self, node_idx: Tensor) -> tuple[Any, Tensor]:
        """Return the matrix of the edges between some nodes, and the places of these edges."""
        group, other, edge = (tensor(item, node_idx) for item in induced(Graph(*self._graph()), array(node_idx)))
        value = self.storage.value()
        sizes = (node_idx.numel(), node_idx.numel())
        order = (group * max(sizes[1], 1) + other).argsort(stable=True)
        edge = edge[order]
        return type(self)(group[order], None, other[order], None if value is None else value[edge], sizes, True), edge

    def random_walk(self, start: Tensor, walk_length: int) -> Tensor:
        """Return the nodes of walks from ``start``: (walks, length and one)."""
        return walked(self.storage.rowptr(), self.storage.col(), start, walk_length)[0]

    def partition(
        self, num_parts: int, recursive: bool = False, weighted: bool = False, node_weight: Tensor | None = None, balance_edge: bool = False
    ) -> tuple[Any, Tensor, Tensor]:
        """Return the matrix with the nodes of a part beside each other, the bounds of the parts, and the order of the nodes. The parts are
        not METIS's own; ``recursive`` changes nothing."""
        bounds, columns = self._graph()
        value = self.storage.value()
        weight = np.diff(bounds) if balance_edge else None if node_weight is None else array(node_weight)
        edges = np.abs(array(value)) if weighted and value is not None else None
        cluster = parts(bounds, columns, num_parts, weight, edges)
        order = np.argsort(cluster, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(cluster, minlength=num_parts))])
        perm = tensor(order, self.storage.col())
        return self.permute(perm), tensor(ends, perm), perm  # type: ignore[attr-defined]

    def reverse_cuthill_mckee(self, is_symmetric: bool | None = None) -> tuple[Any, Tensor]:
        """Return the matrix in an order of its nodes in which its elements are near the diagonal, and the order."""
        if is_symmetric is None:
            is_symmetric = self.is_symmetric()  # type: ignore[attr-defined]
        own = self if is_symmetric else self.to_symmetric()  # type: ignore[attr-defined]
        perm = tensor(ordered(*own._graph()), self.storage.col())
        return self.permute(perm), perm  # type: ignore[attr-defined]


__all__ = ["Sampled", "adjacent"]
