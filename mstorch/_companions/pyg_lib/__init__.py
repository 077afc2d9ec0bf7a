"""pyg_lib (0.9): what torch_geometric calls of it, also as ``torch.ops.pyg``: functions there, without schemas; ``torch.classes.pyg``."""
from __future__ import annotations

import os

import mstorch as torch

from ..torch_cluster import operators
from . import classes
from . import ops as ops
from . import partition as partition
from . import sampler as sampler

__version__ = "0.9.0"
_home = [os.environ.get("PYG_LIB_HOME", os.path.join(os.path.expanduser("~"), ".cache", "pyg_lib"))]


def cuda_version() -> int:
    """Return -1: nothing here is compiled for CUDA."""
    return -1


def get_home_dir() -> str:
    """Return the folder for data."""
    return _home[0]


def set_home_dir(path: str) -> None:
    """Set the folder for data."""
    _home[0] = path


_SAME = (
    "edge_sample", "fps", "gather_coo", "gather_csr", "graclus_cluster", "grid_cluster", "grouped_matmul", "index_sort", "nearest",
    "sampled_op", "scatter_max", "scatter_mean", "scatter_min", "scatter_mul", "scatter_sum", "segment_matmul", "segment_max_coo",
    "segment_max_csr", "segment_mean_coo", "segment_mean_csr", "segment_min_coo", "segment_min_csr", "segment_sum_coo",
    "segment_sum_csr", "softmax_csr", "spline_basis", "spline_weighting",
)  # fmt: skip
_operators = {
    **{name: getattr(ops, name) for name in _SAME}, "knn": operators.knn, "radius": operators.radius, "metis": partition.metis,
    "subgraph": sampler.subgraph, "neighbor_sample": sampler.neighbor_sample, "hetero_neighbor_sample": sampler.sample_kinds,
    "random_walk": sampler.random_walk, "cuda_version": cuda_version,
}  # fmt: skip
for _name, _function in _operators.items():
    setattr(torch.ops.pyg, _name, _function)
classes.register()

__all__ = ["cuda_version", "get_home_dir", "ops", "partition", "sampler", "set_home_dir"]
