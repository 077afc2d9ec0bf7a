"""torch_sparse (0.6): SparseTensor, and functions of indices and values. Sampling, partitions and reorderings of graphs are not here."""
from __future__ import annotations

# ruff: noqa: F401  (the imports are the package's names)
from .. import absent
from .coalesce import coalesce as coalesce
from .functions import eye as eye
from .functions import spmm as spmm
from .functions import spspmm as spspmm
from .functions import transpose as transpose
from .matmul import matmul as matmul
from .storage import SparseStorage as SparseStorage
from .tensor import SparseTensor as SparseTensor
from .tensor import cat as cat
from .tensor import fill_diag as fill_diag
from .tensor import index_select as index_select
from .tensor import masked_select as masked_select
from .tensor import max_ as max
from .tensor import mean as mean
from .tensor import min_ as min
from .tensor import narrow as narrow
from .tensor import remove_diag as remove_diag
from .tensor import select as select
from .tensor import set_diag as set_diag
from .tensor import sum_ as sum
from .tensor import t as t

__version__ = "0.6.18"

_INSTEAD = {
    **dict.fromkeys(
        (
            "sample", "sample_adj", "hgt_sample", "neighbor_sample", "hetero_neighbor_sample", "random_walk", "saint_subgraph",
            "ego_k_hop_sample_adj",
        ),
        "sample on the host with torch_geometric's NeighborLoader and pyg_lib, or choose edges with torch.randperm",
    ),
    **dict.fromkeys(("partition", "metis"), "torch_geometric.loader.ClusterData with pymetis, or a partition computed beforehand"),
    **dict.fromkeys(("reverse_cuthill_mckee", "rcm"), "scipy.sparse.csgraph.reverse_cuthill_mckee"),
    **dict.fromkeys(("bandwidth", "bandwidth_", "diag", "permute", "spadd"), "SparseTensor's row, col and value"),
}


def __getattr__(name: str) -> object:
    if name in _INSTEAD:
        return absent(f"torch_sparse.{name}", _INSTEAD[name])
    raise AttributeError(f"module 'torch_sparse' has no attribute '{name}'")

