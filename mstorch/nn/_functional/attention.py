"""Attention (https://arxiv.org/abs/1706.03762)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._src.core.above import above
from ..._src.core.dtype import bfloat16, bool_, dtype, float16, float32
from ..._src.core.overriding import is_taken
from ..._src.core.storage import DeviceMemory
from ..._src.core.tensor_base import array_of, is_meta, value_of
from ..._src.core.warned import warn_shown_once
from ..._src.namespace.attention_choice import goes_in_one_piece, refuse_what_is_not_allowed
from ..._src.ops._autocast import LOWER
from ..._src.ops._dispatch import cast_tensor, cpp_word
from ..._src.ops._numbers import refuse_tracked
from ..._src.ops._operation import operation
from ..._src.ops.elementwise.compare import isnan, logical_and, logical_or, ne, where
from ..._src.ops.elementwise.elementwise import add, mul
from ..._src.ops.layers.dropout import dropout
from ..._src.ops.layers.padding import constant_pad_nd
from ..._src.ops.linalg.matmul import linear, matmul
from ..._src.ops.memory._kept import kept
from ..._src.ops.memory.copying import contiguous
from ..._src.ops.memory.creation import zeros
from ..._src.ops.memory.from_data import made
from ..._src.ops.reduce.reduce import amax, mean
from ..._src.ops.reduce.softmax import softmax
from ..._src.ops.shape import parts, views
from ..._src.ops.shape.join import cat, repeat, repeat_interleave
from ..._src.tape.moving import beside
from ..._src.tape.ways import in_arrays, is_known
from ..._tensor import Tensor
from . import host_attention
from .fused_attention import are_beside, attention, filled_rows, fits, without_empty_rows


@operation(autocast=LOWER)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``softmax(query @ key.T * scale + mask) @ value``: (*, L, E), (*, S, E), (*, S, V) → (*, L, V).

    A boolean mask is True where a key takes part; a floating mask is added to the scores. A row with every key masked gives zeros.
    """
    q, k = query._ms_shape, key._ms_shape
    if len(q) < 2 or len(k) < 2 or len(value._ms_shape) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {len(q)} key.dim: {len(k)} and "
            f"value.dim: {len(value._ms_shape)} instead."
        )
    if not query._ms_dtype is key._ms_dtype is value._ms_dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {cpp_word(query._ms_dtype)} "
            f"key.dtype: {cpp_word(key._ms_dtype)} and "
            f"value.dtype: {cpp_word(value._ms_dtype)} instead."
        )
    if is_causal and attn_mask is not None:
        if not goes_in_one_piece(query, key, value, attn_mask, dropout_p, enable_gqa):
            raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        attn_mask, is_causal = _causal_too(attn_mask, q[-2], k[-2]), False  # torch's fused kernel accepts a mask and is_causal together
    refuse_what_is_not_allowed(query, key, value, attn_mask, dropout_p, enable_gqa)
    if enable_gqa:
        _check_groups(q, k, value._ms_shape)
    refuse_tracked(scale)
    factor = 1 / math.sqrt(q[-1]) if scale is None else scale
    if (enable_gqa or q[:-2] == k[:-2]) and fits(query, key, value, attn_mask, dropout_p):
        return attention(query, key, value, attn_mask, is_causal, factor, dropout_p)
    if attn_mask is not None and attn_mask._ms_dtype is not query._ms_dtype and attn_mask._ms_dtype not in (bool_, float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{cpp_word(attn_mask._ms_dtype)} and  query.dtype: {cpp_word(query._ms_dtype)} instead."
        )

    def composed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return _composed(query, key, value, attn_mask, dropout_p, is_causal, factor, enable_gqa)

    if host_attention.fits(query, key, value, attn_mask, dropout_p):
        return host_attention.attention(query, key, value, attn_mask, is_causal, factor, composed)
    found = composed(query, key, value)
    if goes_in_one_piece(query, key, value, attn_mask, dropout_p, enable_gqa) and are_beside(query):
        return views.transpose(contiguous(views.transpose(found, 1, 2)), 1, 2)
    return found


def _causal_mask(queries: int, keys: int, like: Tensor) -> Tensor:
    """Return a lower triangular bool mask of shape (queries, keys), on the device of ``like``."""
    mask: Tensor = kept(like, ("past", queries, keys), lambda: beside(made(np.tril(np.ones((queries, keys), bool))), like))
    return mask


def _causal_too(mask: Tensor, queries: int, keys: int) -> Tensor:
    """Return ``mask`` combined with a causal mask."""
    past = _causal_mask(queries, keys, mask)
    return logical_and(mask, past) if mask._ms_dtype is bool_ else where(past, mask, float("-inf"))


def _check_groups(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    """Raise RuntimeError unless the number of key and value heads divides that of the query; raise IndexError for fewer than 3 dimensions.
    """
    for shape in (q, k, v):
        if len(shape) < 3:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{len(shape)}, {len(shape) - 1}], but got -3)")
    if any(heads == 0 or q[-3] % heads for heads in (k[-3], v[-3])):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")


def _composed(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool, factor: float, enable_gqa: bool
) -> Tensor:  # fmt: skip
    """Compute attention from separate operations."""
    q, k = query._ms_shape, key._ms_shape
    in_steps = not goes_in_one_piece(query, key, value, attn_mask, dropout_p, enable_gqa)
    if is_causal:
        attn_mask = _causal_mask(q[-2], k[-2], query)
    if enable_gqa:
        key = repeat_interleave(key, q[-3] // key._ms_shape[-3], -3)
        value = repeat_interleave(value, q[-3] // value._ms_shape[-3], -3)
    half = query._ms_dtype if query._ms_dtype in (float16, bfloat16) else None
    if half is not None:
        # As in torch's kernel, scores and weights are not rounded to half precision on the way.
        query, key, value = (cast_tensor(item, float32) for item in (query, key, value))
        if attn_mask is not None and attn_mask._ms_dtype is not bool_:
            attn_mask = cast_tensor(attn_mask, float32)
    if in_steps and factor > 0 and in_arrays(query):  # queries and keys are scaled each, as torch's composition does
        root = math.sqrt(factor)
        weights = matmul(mul(query, root), views.transpose(mul(key, root), -2, -1))
    else:
        weights = mul(matmul(query, views.transpose(key, -2, -1)), factor)
    empty = None
    if attn_mask is not None:
        if attn_mask._ms_dtype is bool_:
            # A fully masked row is computed without the mask and then set to zero, because NaN would return in the gradients.
            empty, attn_mask = without_empty_rows(attn_mask)
            if is_causal and not in_steps:
                weights = where(attn_mask, weights, float("-inf"))
                if empty is None:  # a row may consist of scores of -inf
                    empty = ne(amax(weights.detach(), -1, True), float("-inf"))
            else:  # added, as in torch, so that NaN stays
                nothing = zeros((), dtype=weights._ms_dtype, device=weights.device)
                weights = add(weights, where(attn_mask, nothing, float("-inf")))
        else:
            empty = filled_rows(attn_mask)
            attn_mask = attn_mask if empty is None else where(empty, attn_mask, 0.0)
            weights = add(weights, attn_mask)
    weights = softmax(weights, -1)
    if empty is not None:
        weights = where(empty if is_causal else logical_or(empty, isnan(weights)), weights, 0.0)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p, True)
    found = matmul(weights, value)
    return found if half is None else cast_tensor(found, half)


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: dtype | None, other_name: str, target_type: dtype, check_other: bool = True
) -> Tensor | None:
    """Return an additive mask, with -inf where a boolean one is True."""
    if mask is None:
        return None
    if mask._ms_dtype is not bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask._ms_dtype is not other_type:
        warn_shown_once(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead."
        )
    if mask._ms_dtype is bool_:
        if is_taken(mask):  # handlers have to see the operations on the mask
            return above.torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)
        if not is_known(mask):
            return cast_tensor(where(mask, float("-inf"), 0.0), target_type)
        return beside(made(np.where(array_of(mask), -np.inf, 0).astype(target_type.np)), mask)
    return mask


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Return whether the input has a batch dimension; raise AssertionError if the shapes do not fit."""
    rank = len(query._ms_shape)
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    words = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    others = len(key._ms_shape), len(value._ms_shape)
    if others != (rank, rank):
        raise AssertionError(
            f"For {words} `query`, expected `key` and `value` to be {rank}-D but found {others[0]}-D and {others[1]}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and len(key_padding_mask._ms_shape) != rank - 1:
        raise AssertionError(
            f"For {words} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{len(key_padding_mask._ms_shape)}-D tensor instead"
        )
    if attn_mask is not None:
        mask = attn_mask._ms_shape
        if len(mask) not in (2, 3):
            raise AssertionError(
                f"For {words} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {len(mask)}-D tensor instead"
            )
        expected = (num_heads, query._ms_shape[0], key._ms_shape[0])
        if rank == 2 and len(mask) == 3 and mask != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got torch.Size({list(mask)})")
    return rank == 3


def _check_keys(key: Tensor, value: Tensor, separate: bool) -> None:
    """Raise AssertionError for keys and values of different lengths; with one matrix for all (not ``separate``) also of widths."""
    k, v = key._ms_shape, value._ms_shape
    if separate and k[:2] != v[:2]:
        raise AssertionError(f"key's sequence and batch dims {k[:2]} do not match value's {v[:2]}")
    if not separate and k != v:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _longer(rows: Tensor, bias: Tensor, static: Tensor | None, word: str) -> Tensor:
    """Return keys or values with the bias as one more row of each sample."""
    if static is not None:
        raise AssertionError(f"bias cannot be added to static {word}.")
    return cat([rows, repeat(bias, 1, rows._ms_shape[1], 1)])


def _with_padding(mask: Tensor | None, padding: Tensor, sizes: tuple[int, int, int]) -> Tensor:
    """Return the attention mask plus that of padded keys (N, S) for each head; ``sizes`` are N, heads and S."""
    batch, heads, source = sizes
    if padding._ms_shape != (batch, source):
        raise AssertionError(
            f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding._ms_shape[0]}"
        )
    wide = views.expand(views.reshape(padding, (batch, 1, 1, source)), (batch, heads, 1, source))
    wide = views.reshape(wide, (batch * heads, 1, source))
    return wide if mask is None else add(mask, wide)


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Any, Any, Any] | None, packed: Tensor | None, bias: Tensor | None
) -> list[Any]:
    biases = (None, None, None) if bias is None else parts.chunk(bias, 3)
    if weights is None:
        if key is value and query is key:
            return list(parts.chunk(linear(query, packed, bias), 3, -1))
        weights = parts.chunk(packed, 3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, heads: int, need_weights: bool
) -> tuple[Any, Any]:
    """Return the attention of q (N * heads, L, E) to k, v (N * heads, S, E): (L * N, heads * E), and the weights (N * heads, L, S)."""
    together, length, head = q._ms_shape
    batch = together // heads
    rows = length * batch, head * heads
    if need_weights:
        weights = matmul(mul(q, math.sqrt(1.0 / head)), views.transpose(k, -2, -1))
        if mask is not None:
            weights = add(weights, mask)
        weights = softmax(weights, -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p, True)
        return views.reshape(views.transpose(matmul(weights, v), 0, 1), rows), weights
    q, k, v = (views.reshape(x, (batch, heads, x._ms_shape[1], head)) for x in (q, k, v))
    if mask is not None:
        single = mask._ms_shape[0] == 1
        mask = views.unsqueeze(mask, 0) if single else views.reshape(mask, (batch, heads, *mask._ms_shape[1:]))
    mixed = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return views.reshape(views.permute(mixed, (2, 0, 1, 3)), rows), None


def head_width(width: int, expected: int, heads: int) -> int:
    """Return the number of features of a head. Raise AssertionError if ``width`` is not ``expected`` or not divisible by the number of
    heads."""
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    head = width // heads
    if head * heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    return head


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Compute multi-head attention: query (L, N, E), key and value (S, N, E), or without N → (L, N, E) and the weights."""
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = key is value, query is key
        query = views.unsqueeze(query, 1)
        key = query if same[1] else views.unsqueeze(key, 1)
        value = key if same[0] else views.unsqueeze(value, 1)
        if key_padding_mask is not None:
            key_padding_mask = views.unsqueeze(key_padding_mask, 0)
    length, batch, width = query._ms_shape
    kind = query._ms_dtype
    other = None if attn_mask is None else attn_mask._ms_dtype
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", other, "attn_mask", kind)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", kind, False)
        is_causal = is_causal and key_padding_mask is None
    head = head_width(width, embed_dim_to_check, num_heads)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    _check_keys(key, value, separate is not None)
    q, k, v = _projected(query, key, value, separate, in_proj_weight, in_proj_bias)
    heads = batch * num_heads
    attn_mask = _checked_mask(attn_mask, length, key._ms_shape[0], heads)
    if bias_k is not None and bias_v is not None:
        k, v = _longer(k, bias_k, static_k, "key"), _longer(v, bias_v, static_v, "value")
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    q, k, v = [views.transpose(views.reshape(x, (x._ms_shape[0], heads, head)), 0, 1) if static is None else static
               for x, static in ((q, None), (k, static_k), (v, static_v))]  # fmt: skip
    if add_zero_attn:
        k, v = (cat([x, zeros((heads, 1, head), dtype=kind, device=x.device)], 1) for x in (k, v))
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    source = k._ms_shape[1]
    if key_padding_mask is not None:
        attn_mask = _with_padding(attn_mask, key_padding_mask, (batch, num_heads, source))
    if not training:
        dropout_p = 0.0
    mixed, weights = _attended(q, k, v, attn_mask, dropout_p, is_causal, num_heads, need_weights)
    out = linear(mixed, out_proj_weight, out_proj_bias)
    out = views.reshape(out, (length, batch, out._ms_shape[1]))
    if not need_weights:
        return (out if batched else views.squeeze(out, 1)), None
    weights = views.reshape(weights, (batch, num_heads, length, source))
    if average_attn_weights:
        weights = mean(weights, 1)
    return (out, weights) if batched else (views.squeeze(out, 1), views.squeeze(weights, 0))


def _one_more(mask: Tensor | None) -> Any:
    return None if mask is None else constant_pad_nd(mask, (0, 1))


def _checked_mask(mask: Tensor | None, length: int, source: int, heads: int) -> Tensor | None:
    """Return the mask as (1, L, S) or (N * heads, L, S). Raise RuntimeError for other shapes."""
    if mask is None:
        return None
    shape = mask._ms_shape
    if len(shape) == 2:
        if shape != (length, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}.")
        return views.unsqueeze(mask, 0)
    if len(shape) == 3:
        if shape != (heads, length, source):
            raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {(heads, length, source)}.")
        return mask
    raise RuntimeError(f"attn_mask's dimension {len(shape)} is not supported")


