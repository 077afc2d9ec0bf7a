"""``torch.classes.pyg``: the places of keys, and a graph that is sampled again and again."""
from __future__ import annotations

import numpy as np

import mstorch as torch

from .. import absent
from ..drawing import array, tensor
from .sampler import neighbor_sample

Tensor = torch.Tensor
_NUMBERS = {torch.int16: 2, torch.int32: 3, torch.int64: 4}
"""The numbers of dtypes of keys in torch's library, which the class tells."""


class CPUHashMap:
    """Places of keys: a tensor of one dimension without duplicates. ``num_submaps`` is for the package's threads."""

    def __init__(self, key: Tensor, num_submaps: int = 0) -> None:
        if key.dim() != 1 or key.device.type != "cpu":
            raise RuntimeError(f"Expected 1-dimensional tensor on the CPU, but got {key.dim()}-dimensional tensor on {key.device}")
        if key.dtype not in _NUMBERS:
            raise RuntimeError(f"\"cpu_hash_map_init\" not implemented for '{str(key.dtype).removeprefix('torch.')}'")
        if num_submaps not in (-1, 0) and num_submaps not in (1 << power for power in range(1, 13)):
            raise RuntimeError("'num_submaps' needs to be a power of 2")
        self._keys = key.detach().clone()
        values = array(self._keys)
        self._order = np.argsort(values, kind="stable")
        self._sorted = values[self._order]
        if (self._sorted[1:] == self._sorted[:-1]).any():
            raise RuntimeError("Found duplicated key in 'HashMap'.")

    def get(self, query: Tensor) -> Tensor:
        """Return the place of each key, -1 for what is no key."""
        wanted = array(query)
        if not len(self._sorted):
            return torch.full(query.shape, -1)
        at = np.searchsorted(self._sorted, wanted).clip(max=len(self._sorted) - 1)
        return tensor(np.where(self._sorted[at] == wanted, self._order[at], -1), query)

    def keys(self) -> Tensor:
        """Return the keys in their order."""
        return self._keys.clone()

    def size(self) -> int:
        """Return how many keys there are."""
        return len(self._order)

    def dtype(self) -> int:
        """Return the number of the keys' dtype in torch's library."""
        return _NUMBERS[self._keys.dtype]

    def device(self) -> torch.device:
        """Return the CPU."""
        return self._keys.device

    def __getstate__(self) -> Tensor:
        return self._keys

    def __setstate__(self, state: Tensor) -> None:
        CPUHashMap.__init__(self, state)


class NeighborSampler:
    """A graph in compressed rows whose neighbours are sampled."""

    def __init__(
        self, rowptr: Tensor, col: Tensor, edge_weight: Tensor | None = None, node_time: Tensor | None = None,
        edge_time: Tensor | None = None,
    ) -> None:  # fmt: skip
        self._graph = rowptr, col
        self._edge_weight, self._node_time, self._edge_time = edge_weight, node_time, edge_time

    def sample(
        self, num_neighbors: list[int], seed_node: Tensor, seed_time: Tensor | None = None, disjoint: bool = False,
        temporal_strategy: str = "uniform", return_edge_id: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None, list[int], list[int]]:  # fmt: skip
        """Return rows, columns, nodes, edges, the seed of each node (with ``disjoint``), and the numbers of nodes and edges of each hop."""
        row, col, node, edge, nodes, edges = neighbor_sample(
            *self._graph, seed_node, num_neighbors, self._node_time, self._edge_time, seed_time, self._edge_weight, disjoint=disjoint,
            temporal_strategy=temporal_strategy, return_edge_id=return_edge_id,
        )  # fmt: skip
        batch, node = (node[:, 0], node[:, 1]) if disjoint else (None, node)
        return row, col, node, edge, batch, nodes, edges


def register() -> None:
    """Show the classes in ``torch.classes.pyg``. torch_geometric asks whether CUDAHashMap is there, and must learn that it is not."""
    kinds = absent("torch.classes.pyg.HeteroNeighborSampler", "write torch.ops.pyg.hetero_neighbor_sample")
    vars(torch.classes.pyg).update(CPUHashMap=CPUHashMap, NeighborSampler=NeighborSampler, HeteroNeighborSampler=kinds)


__all__ = ["CPUHashMap", "NeighborSampler", "register"]
