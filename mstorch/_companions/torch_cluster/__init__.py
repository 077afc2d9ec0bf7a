"""torch_cluster (1.6): neighbours, samples and clusters of points. graclus_cluster, random_walk and neighbor_sampler are not here."""
from __future__ import annotations

from .. import absent
from .fps import fps
from .grid import grid_cluster
from .knn import knn, knn_graph
from .nearest import nearest
from .radius import radius, radius_graph

__version__ = "1.6.3"

_INSTEAD = {
    "graclus_cluster": "pool with grid_cluster, or with torch_geometric's TopKPooling",
    "random_walk": "draw the neighbours step by step with torch.multinomial or torch.randint on the bounds of the CSR form",
    "neighbor_sampler": "torch_geometric.loader.NeighborLoader with pyg_lib on the host",
    "sampler": "torch_geometric.loader.NeighborLoader with pyg_lib on the host",
}


def __getattr__(name: str) -> object:
    if name in _INSTEAD:
        return absent(f"torch_cluster.{name}", _INSTEAD[name])
    raise AttributeError(f"module 'torch_cluster' has no attribute '{name}'")


__all__ = ["fps", "grid_cluster", "knn", "knn_graph", "nearest", "radius", "radius_graph"]
