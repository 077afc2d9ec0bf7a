"""torch_cluster (1.6): neighbours, samples, walks and clusters of points and nodes; also ``torch.ops.torch_cluster``."""
from __future__ import annotations

from . import operators
from .fps import fps
from .graclus import graclus_cluster
from .grid import grid_cluster
from .knn import knn, knn_graph
from .nearest import nearest
from .radius import radius, radius_graph
from .rw import random_walk
from .sampler import neighbor_sampler

__version__ = "1.6.3"

operators.register()

__all__ = [
    "fps", "graclus_cluster", "grid_cluster", "knn", "knn_graph", "nearest", "neighbor_sampler", "radius", "radius_graph", "random_walk",
]  # fmt: skip
