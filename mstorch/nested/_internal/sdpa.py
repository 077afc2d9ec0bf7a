"""Attention on variable-length components: all at once, padded, with a mask of valid keys."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.ops.memory.from_data import made
from ..._tensor import Tensor
from ...nn import functional as F
from .padding import padded, unpadded


def mask_of(lengths: Array, query: Tensor, width: int, is_causal: bool = False) -> Any:
    """Return a mask of the padded keys (``width`` per query) to which each query may attend; None if all keys are valid."""
    if (lengths == width).all():
        return None
    kept = (np.arange(width) < lengths[:, None]).reshape(len(lengths), *(1,) * (query.dim() - 2), width)
    if is_causal:
        kept = kept & np.tri(query.shape[-2], width, dtype=np.bool_)
    return made(np.ascontiguousarray(kept)).to(query.device)


def attend(
    elements: Sequence[Any], sizes: Sequence[Array], dropout_p: float = 0.0, scale: float | None = None
) -> tuple[Any, Array]:
    """Compute attention of queries, keys and values, each given as concatenated elements of components (…, length, features); return
    elements and sizes.
    """
    query, key, value = (padded(item, table, tuple(table.max(0).tolist()), 0.0) for item, table in zip(elements, sizes))
    mask = mask_of(sizes[1][:, -2], query, key.shape[-2])
    found = F.scaled_dot_product_attention(query, key, value, mask, dropout_p, scale=scale)
    after = np.concatenate([sizes[0][:, :-1], sizes[2][:, -1:]], 1)
    return unpadded(found, after), after
