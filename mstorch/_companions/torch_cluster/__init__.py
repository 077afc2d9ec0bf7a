"""torch_cluster (1.6): neighbours, samples, walks and clusters of points and nodes."""
from __future__ import annotations

import mstorch as torch

from .fps import fps
from .graclus import graclus_cluster
from .grid import grid_cluster
from .knn import knn, knn_graph
from .nearest import nearest
from .radius import radius, radius_graph
from .rw import random_walk, walked
from .sampler import neighbor_sampler

__version__ = "1.6.3"

vars(torch.ops.torch_cluster)["random_walk"] = walked  # torch_geometric 2.4 to 2.7 call it

__all__ = [
    "fps", "graclus_cluster", "grid_cluster", "knn", "knn_graph", "nearest", "neighbor_sampler", "radius", "radius_graph", "random_walk",
]  # fmt: skip
