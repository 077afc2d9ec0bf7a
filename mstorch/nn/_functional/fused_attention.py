"""Attention by a device's fused kernel."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._backend import trace
from ..._backend.raw import ON_CPU
from ..._backend.table import kernel, serves
from ..._core.dtype import bool_
from ..._core.modes import modes
from ..._core.storage import DeviceMemory
from ..._core.tangents import LEVELS
from ..._core.tensor_base import array_of, is_meta, value_of
from ..._ops.elementwise.compare import logical_and, logical_not, logical_or, ne, where
from ..._ops.memory.from_data import made
from ..._ops.reduce.reduce import amax
from ..._ops.reduce.reduce import any as any_of
from ..._ops.shape import views
from ..._tape.apply import apply
from ..._tape.moving import beside
from ..._tape.ways import fused, is_known
from ..._tensor import Tensor

_attention = kernel("attention")
_WIDEST, _STEP = 512, 16  # head sizes of Ascend's kernel: multiples of 16 up to 512
_BATCHES, _HEADS = 2048, 256


def fits(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> bool:
    """Return whether the device's kernel supports this call: it limits head sizes, and accepts no dropout and only a boolean mask."""
    if dropout_p > 0 or not fused("attention", query._ms_dtype, query, key, value, mask):
        return False
    q, k = query._ms_shape, key._ms_shape
    if len(q) not in (3, 4) or len(k) != len(q) or value._ms_shape != k or 0 in q or 0 in k:
        return False
    if q[0] != k[0] or q[-1] != k[-1] or q[-1] % _STEP or q[-1] > _WIDEST:
        return False
    if q[0] > _BATCHES or (len(q) == 4 and (q[1] > _HEADS or q[1] % k[1])):
        return False
    return mask is None or (mask._ms_dtype is bool_ and len(mask._ms_shape) <= len(q))


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Any, causal: bool, scale: float) -> Tensor:
    """Compute attention on (B, N, L, E) or (B, L, E), as ``scaled_dot_product_attention``; a row with every key masked gives zeros."""
    single = len(query._ms_shape) == 3
    if single:
        query, key, value = (views.unsqueeze(item, 1) for item in (query, key, value))
    found = attention_with_sums(query, key, value, mask, causal, scale, single)[0]
    return views.squeeze(found, 1) if single else found


def attention_with_sums(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, causal: bool, scale: float, single: bool = False
) -> list[Any]:
    """Return the attention of (B, N, L, E), and each row's maximum score and sum of exponentials, repeated 8 times, in float32.

    ``single``: there is one head, and a 3-d mask is (B, L, S).
    """
    allowed = hidden = None
    if mask is not None:
        allowed, hidden = _hidden(mask, query._ms_shape, key._ms_shape[2], single)
    found, top, total = apply(_attention, query._ms_dtype, (query, key, value, hidden), (float(scale), causal))
    return [found if allowed is None else where(allowed, found, 0.0), top, total]


def _hidden(mask: Any, shape: tuple[int, ...], keys: int, single: bool) -> tuple[Any, Any]:
    """Return a mask of the rows that have an unmasked key (None if all rows are known to have one), and the inverted mask in a shape that
    the kernel accepts."""
    if single and len(mask._ms_shape) == 3:
        mask = views.unsqueeze(mask, 1)
    while len(mask._ms_shape) > 2 and mask._ms_shape[0] == 1 and len(mask._ms_shape) < 4:
        mask = views.squeeze(mask, 0)
    if len(mask._ms_shape) == 4 and mask._ms_shape[:2] == (1, 1):
        mask = views.reshape(mask, mask._ms_shape[2:])
    if len(mask._ms_shape) <= 2:
        wide: tuple[int, ...] = (shape[2], keys)
    elif len(mask._ms_shape) == 4 and mask._ms_shape[1] == 1:
        wide = (shape[0], 1, shape[2], keys)
    else:
        wide = (*shape[:3], keys)
    mask = views.expand(mask, wide)
    allowed = filled_rows(mask)
    hidden = logical_not(mask)
    return allowed, hidden if allowed is None else logical_and(hidden, allowed)  # a row without a key attends to all, and is set to 0 later


def filled_rows(mask: Any) -> Tensor | None:
    """Return, as a column, which rows of a mask have an unmasked key: an element that is True, or not -inf. None if all rows have one."""
    if not is_known(mask):
        return any_of(mask, -1, True) if mask._ms_dtype is bool_ else ne(amax(mask.detach(), -1, True), float("-inf"))
    array = array_of(mask)
    filled = (array if mask._ms_dtype is bool_ else array != -np.inf).any(-1, keepdims=True)
    return None if filled.all() else beside(made(filled), mask)


def without_empty_rows(mask: Tensor) -> tuple[Any, Any]:
    """Return which rows have a True element (None if all are known to have one), and the mask with all other rows set to True."""
    filled = filled_rows(mask)
    return filled, mask if filled is None else logical_or(mask, logical_not(filled))
