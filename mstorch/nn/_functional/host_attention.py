"""Attention as one autograd node, on host memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.backend.halves import narrowed, widened
from ..._src.backend.host.attention import attention as in_groups
from ..._src.backend.host.attention import attention_slope, triangle
from ..._src.core.dtype import bool_
from ..._src.core.strides import preserved_strides
from ..._src.core.tensor_base import array_of, laid_out, strides_of
from ..._src.namespace.attention_choice import goes_in_one_piece
from ..._src.tape.whole import followed, in_one_piece, record
from ..._tensor import Tensor
from .fused_attention import broadcasts

Composed = Callable[[Any, Any, Any], Any]
_LABEL = "ScaledDotProductFlashAttentionForCpuBackward0"


def fits(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> bool:
    """Return whether the call can be one autograd node: torch has a fused kernel for it, and all tensors have the same floating dtype."""
    if not query._ms_dtype.is_floating_point or key._ms_dtype is not query._ms_dtype or value._ms_dtype is not query._ms_dtype:
        return False
    if key._ms_shape != value._ms_shape or key._ms_shape[:2] != query._ms_shape[:2]:
        return False
    if not in_one_piece((query, key, value) if mask is None else (query, key, value, mask)):
        return False
    if mask is not None and not broadcasts(mask._ms_shape, (*query._ms_shape[:-1], key._ms_shape[-2])):
        return False
    return goes_in_one_piece(query, key, value, mask, dropout_p)


def _wide(array: Array) -> Array:
    return widened(array) if array.dtype.itemsize == 2 else array


def _narrow(array: Array, kind: np.dtype[Any]) -> Array:
    return narrowed(array, kind) if array.dtype != kind else array


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float, composed: Composed) -> Tensor:
    """Compute attention: (B, H, L, E), twice (B, H, S, E) → (B, H, L, E) with the layout of ``query``.

    In half precision, neither scores nor weights are rounded to it.
    """
    q, k, v = (_wide(array_of(item)) for item in (query, key, value))
    if causal and not (np.isfinite(np.add.reduce(k, axis=None)) and np.isfinite(np.add.reduce(q, axis=None))):
        return composed(query, key, value)  # adding -inf to a masked score would give NaN if the score is infinite or NaN
    if causal:
        bias: Any = triangle(q.shape[2], k.shape[2]).astype(q.dtype, copy=False)
    elif mask is not None:
        bias = array_of(mask)
        bias = np.where(bias, q.dtype.type(0), q.dtype.type(-np.inf)) if mask._ms_dtype is bool_ else np.array(_wide(bias), q.dtype)
    else:
        bias = None
    tensors = (query, key, value)
    recorded = followed(tensors)
    found, weights = in_groups(q, k, v, bias, scale, recorded)
    result = laid_out(_narrow(found, query._ms_dtype.np), preserved_strides(query._ms_shape, strides_of(query)))
    if not recorded:
        return result

    def slope(*given: Array) -> tuple[Array, ...]:
        g, q, k, v = map(_wide, given)
        return tuple(_narrow(part, given[0].dtype) for part in attention_slope(g, q, k, v, bias, scale, weights))

    return record(result, tensors, _LABEL, slope, composed, unchanged=True)
