"""torch.functional: functions of torch that take or return several tensors."""
from ._src.ops.indexing.positions import unravel_index
from ._src.ops.layers.distance import cdist
from ._src.ops.linalg.contract import chain_matmul, tensordot
from ._src.ops.linalg.einsum import einsum
from ._src.ops.linalg.lowrank import lu, pca_lowrank, svd_lowrank
from ._src.ops.reduce.count import unique, unique_consecutive
from ._src.ops.reduce.measure import norm
from ._src.ops.shape.join import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    meshgrid,
)  # fmt: skip
from ._src.ops.shape.parts import split
from ._src.ops.signal.spectral import istft, stft
from .nn import functional as F  # noqa: F401  # torch has it here

# torch's own list: the names that a star import of torch.functional binds.
__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot",
    "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip
