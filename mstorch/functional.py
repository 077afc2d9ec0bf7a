"""torch.functional: the functions of torch that take tensors in some number, or give them in some number."""
from __future__ import annotations

from ._ops.contract import chain_matmul, einsum, tensordot
from ._ops.count import unique, unique_consecutive
from ._ops.distance import cdist
from ._ops.join import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    meshgrid,
)  # fmt: skip
from ._ops.lowrank import lu, pca_lowrank, svd_lowrank
from ._ops.measure import norm
from ._ops.positions import unravel_index
from ._ops.spectral import istft, stft
from ._ops.views import split
from .nn import functional as F

__all__ = [
    "F", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot",
    "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip
