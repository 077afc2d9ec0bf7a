"""Attention by a device's fused kernel."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._src.backend.table import kernel
from ..._src.core.dtype import bool_
from ..._src.core.tensor_base import array_of, recording, strides_of
from ..._src.ops.elementwise.compare import logical_and, logical_not, logical_or, ne, where
from ..._src.ops.elementwise.elementwise import mul
from ..._src.ops.layers.dropout import dropout_bits
from ..._src.ops.layers.padding import constant_pad_nd
from ..._src.ops.memory.copying import contiguous
from ..._src.ops.memory.from_data import made
from ..._src.ops.reduce.reduce import amax
from ..._src.ops.reduce.reduce import any as any_of
from ..._src.ops.shape import views
from ..._src.tape.apply import apply
from ..._src.tape.derived import derived_from
from ..._src.tape.moving import beside
from ..._src.tape.ways import fused, is_known
from ..._src.tape.whole import has_kernel
from ..._tensor import Tensor

_attention = kernel("attention")
WIDEST, STEP, HEADS = 512, 16, 256
"""Limits of Ascend's kernel: the largest size of a head, of which sizes are multiples, the number of heads."""
_BATCHES = 2048
LARGE = 1 << 24
"""Elements of a mask, copied for each head, above which heads and batches change places instead."""


def fits(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> bool:
    """Return whether the device's kernel supports this call: it limits sizes, takes no mask that requires grad, and the bits of a dropout
    in whole bytes for each query."""
    if not fused("attention", query._ms_dtype, query, key, value, mask):
        return False
    if dropout_p > 0 and (not dropout_p < 1 or key._ms_shape[-2] % 8 or not has_kernel("attention", query)):
        return False
    q, k = query._ms_shape, key._ms_shape
    if len(q) not in (3, 4) or len(k) != len(q) or value._ms_shape[:-1] != k[:-1] or 0 in q or 0 in k or value._ms_shape[-1] == 0:
        return False
    if q[0] != k[0] or q[-1] != k[-1] or max(q[-1], value._ms_shape[-1]) > WIDEST:
        return False
    if q[0] > _BATCHES or (len(q) == 4 and (q[1] > HEADS or q[1] % k[1])):
        return False
    if mask is None:
        return True
    if mask._ms_dtype not in (bool_, query._ms_dtype) or recording((mask,)):
        return False
    return len(mask._ms_shape) <= len(q) and broadcasts(mask._ms_shape, (*q[:-1], k[-2]))


def broadcasts(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Return whether a shape of no more dimensions can be expanded to another."""
    return all(n in (1, full) for n, full in zip(shape[::-1], wide[::-1]))


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Any, causal: bool, scale: float, dropout_p: float) -> Tensor:
    """Compute attention on (B, N, L, E) or (B, L, E), as ``scaled_dot_product_attention``; a row with every key masked gives zeros."""
    single = len(query._ms_shape) == 3
    if single:
        query, key, value = (views.unsqueeze(item, 1) for item in (query, key, value))
    found = attention_with_sums(query, key, value, mask, causal, scale, dropout_p, single)[0]
    return views.squeeze(found, 1) if single else found


def _kept_mask(mask: Tensor, wide: tuple[int, ...], single: bool, groups: int, layout: str) -> tuple[str, Any, Any]:
    """Return what heads and batches share of a mask, the queries that it leaves nothing, and the mask as the kernel takes it. The last two
    are kept with the mask, which a network gives to each of its layers.
    """
    shared = "" if single else _shared(mask, wide, groups, layout)
    filled, given = derived_from(mask, (wide, single, shared, groups), lambda: _given_mask(mask.detach(), wide, single, shared, groups))
    return shared, filled, given


def attention_with_sums(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, causal: bool, scale: float, dropout_p: float = 0.0, single: bool = False
) -> list[Any]:  # fmt: skip
    """Return the attention of (B, N, L, E), and each row's maximum score and sum of exponentials, repeated 8 times, in float32.

    ``single``: there is one head, and a 3-d mask is (B, L, S).
    """
    filled = given = bits = None
    shared = ""
    wide, groups = (*query._ms_shape[:3], key._ms_shape[2]), key._ms_shape[1]
    width = value._ms_shape[3]
    beside = not single and width == query._ms_shape[3] and are_beside(query)
    layout = "BSND" if beside and are_beside(key) else "BNSD"
    if mask is not None:
        shared, filled, given = _kept_mask(mask, wide, single, groups, layout)
    if dropout_p > 0:
        bits = dropout_bits(query, wide, dropout_p)
    if shared:
        layout = "BNSD"
        query, key, value = [_regrouped(item, groups, shared) for item in (query, key, value)]
        bits = None if bits is None else _regrouped(bits, groups, shared)
    if layout == "BSND":
        query, key, value = [views.transpose(item, 1, 2) for item in (query, key, value)]
        filled = None if filled is None else views.transpose(filled, 1, 2)
    if given is not None and given._ms_dtype is not bool_:
        query, scale = mul(query, scale), 1.0  # the kernel adds such a mask before it scales
    whole = -(-max(width, query._ms_shape[3]) // STEP) * STEP
    query, key, value = [item if item._ms_shape[3] == whole else _widened(item, whole) for item in (query, key, value)]
    args = (float(scale), causal, layout, 1.0 - dropout_p)
    parts = apply(_attention, query._ms_dtype, (query, key, value, given, bits), args)
    found, top, total = (_as_before(part, wide, groups, shared) for part in parts) if shared else parts
    if width != whole:
        found = contiguous(views.narrow(found, 3, 0, width))
    if filled is not None:
        found = where(filled, found, 0.0)
    turned = found if layout == "BSND" else views.transpose(found, 1, 2)
    if beside and dropout_p == 0:  # torch's fused kernel then lays its result out as the query
        return [views.transpose(contiguous(turned), 1, 2), top, total]
    return [contiguous(views.transpose(turned, 1, 2) if layout == "BSND" else found), top, total]


def _shared(mask: Tensor, wide: tuple[int, ...], groups: int, layout: str) -> str:
    """Return the dimensions that heads are counted with so that a mask that is added needs no copy for each head: the kernel expands it
    over batches, but not over heads. "batch": groups of heads are batches, besides those that there are. "heads": groups are the batches,
    and batches count as heads. "": the mask is boolean, has heads or is small."""
    own = (1,) * (4 - len(mask._ms_shape)) + mask._ms_shape
    (batch, heads, *_), each = wide, wide[1] // groups
    if mask._ms_dtype is bool_ or own[1] != 1 or heads == 1:
        return ""
    large = math.prod(wide[1:]) * own[0] > LARGE
    if own[0] == 1 and batch * groups <= _BATCHES and (large or layout == "BNSD"):
        return "batch"
    return "heads" if own[0] > 1 and large and batch * each <= HEADS else ""


def _regrouped(item: Any, groups: int, shared: str) -> Any:
    """Return (B, N, …) with the dimensions that ``_shared`` names: (B * groups, N / groups, …) or (groups, B * N / groups, …)."""
    batch, heads, *rest = item._ms_shape
    if shared == "batch":
        return views.reshape(item, (batch * groups, heads // groups, *rest))
    apart = views.reshape(item, (batch, groups, heads // groups, *rest))
    return views.reshape(views.transpose(apart, 0, 1), (groups, batch * (heads // groups), *rest))


def _as_before(item: Any, wide: tuple[int, ...], groups: int, shared: str) -> Any:
    """Return a result of regrouped heads as (B, N, …)."""
    batch, heads, *_ = wide
    rest = item._ms_shape[2:]
    if shared == "batch":
        return views.reshape(item, (batch, heads, *rest))
    return views.reshape(views.transpose(views.reshape(item, (groups, batch, heads // groups, *rest)), 0, 1), (batch, heads, *rest))


def are_beside(heads: Tensor) -> bool:
    """Return whether the heads of (B, N, L, E) lie beside one another in memory, as after a projection."""
    strides = strides_of(heads)
    return strides[1] < strides[2]


def _widened(item: Tensor, width: int) -> Any:
    """Return heads with zeros after their last elements, which change no product."""
    return constant_pad_nd(item, (0, width - item._ms_shape[3]))


def _given_mask(mask: Any, wide: tuple[int, ...], single: bool, shared: str, groups: int) -> tuple[Any, Any]:
    """Return, as (B, N, L, 1), which rows have an unmasked key (None if all are known to have one), and the mask in the form that the
    kernel takes: a boolean one is inverted, and the other rows are unmasked, because they are set to 0 later."""
    if single and len(mask._ms_shape) == 3:
        mask = views.unsqueeze(mask, 1)
    while len(mask._ms_shape) > 2 and mask._ms_shape[0] == 1:
        mask = views.squeeze(mask, 0)
    filled, rank = filled_rows(mask), len(mask._ms_shape)
    if mask._ms_dtype is bool_:
        given = logical_not(mask)
        given = given if filled is None else logical_and(given, filled)
        shape = wide[2:] if rank <= 2 else (wide[0], 1 if rank == 4 and mask._ms_shape[1] == 1 else wide[1], *wide[2:])
    else:
        given = mask if filled is None else where(filled, mask, 0.0)
        each = wide[1] // groups
        shape = (wide[0] if rank == 4 else 1, each if shared else wide[1], *wide[2:])
    if filled is not None:
        filled = views.reshape(filled, (*[1] * (4 - rank), *filled._ms_shape))
    given = given if given._ms_shape == shape else contiguous(views.expand(given, shape))
    return filled, views.reshape(given, (1, -1, *wide[2:])) if shared == "heads" else given


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
