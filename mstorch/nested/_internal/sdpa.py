"""Attention of parts of several lengths: all of them at once, padded, with a mask of the keys that are there."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._ops.from_data import made
from ...nn import functional as F
from .padding import padded, unpadded


def attend(
    query: Any, key: Any, value: Any, q_sizes: np.ndarray, k_sizes: np.ndarray, v_sizes: np.ndarray,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
) -> Any:  # fmt: skip
    """Attention on elements of parts (…, length, features) that lie one after the other; the elements of the results."""
    outers = [tuple(sizes.max(0).tolist()) for sizes in (q_sizes, k_sizes, v_sizes)]
    q, k, v = (padded(x, sizes, outer, 0.0) for x, sizes, outer in zip((query, key, value), (q_sizes, k_sizes, v_sizes), outers))
    longest = k.shape[-2]
    mask = None
    if (k_sizes[:, -2] != longest).any():
        kept = np.arange(longest) < k_sizes[:, -2, None]
        kept = kept.reshape(len(k_sizes), *(1,) * (q.dim() - 2), longest)
        if is_causal:
            kept = kept & np.tri(q.shape[-2], longest, dtype=np.bool_)
        mask = made(kept).to(q.device)
    found = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal and mask is None, scale=scale)
    sizes = np.concatenate([q_sizes[:, :-1], v_sizes[:, -1:]], 1)
    return unpadded(found, sizes), sizes
