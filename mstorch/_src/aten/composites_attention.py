"""Scaled dot-product and multi-head attention, decomposed as torch does."""
from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from ..._tensor import Tensor
from ...nn import functional
from ...nn._functional.attention import head_width
from ..core.dtype import bool_
from ..core.modes import modes
from ..core.tensor_base import is_tracked
from .calling import NotInTerms
from .composites import aten, composite
from .composites_dropout import dropout
from .composites_layers import matmul


@composite("multi_head_attention_forward")
def _attention_layer(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor,
    in_proj_bias: Tensor | None, bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True,
    attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    key_padding_mask, attn_mask = (_added(mask, query) for mask in (key_padding_mask, attn_mask))
    batched = query.dim() == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, batch, width = query.shape
    head = head_width(width, embed_dim_to_check, num_heads)
    if use_separate_proj_weight:
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        weights = q_proj_weight, k_proj_weight, v_proj_weight
        q, k, v = (functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    else:
        q, k, v = _projected(functional, query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None and attn_mask.dim() == 2:
        attn_mask = attn_mask.unsqueeze(0)
    masks = [attn_mask, key_padding_mask]
    if bias_k is not None:
        k, v = (aten("cat", [part, bias.repeat(1, batch, 1)]) for part, bias in ((k, bias_k), (v, bias_v)))
        masks = [_longer(mask) for mask in masks]
    q, k, v = (_in_heads(part, batch * num_heads, head, static) for part, static in ((q, None), (k, static_k), (v, static_v)))
    if add_zero_attn:
        k, v = (aten("cat", [x, aten("zeros", [len(x), 1, head], dtype=x.dtype, device=x.device)], 1) for x in (k, v))
        masks = [_longer(mask) for mask in masks]
    mask = _combined_masks(masks, batch, num_heads, k.shape[1])
    dropped = dropout_p if training else 0.0
    shown: Tensor | None = None
    if need_weights:
        result, shown = _weighted(q, k, v, mask, dropped)
        result = result.transpose(0, 1).reshape(rows * batch, width)
    else:
        result = _unweighted(q, k, v, mask, dropped, is_causal, (batch, num_heads, rows, head))
    result = functional.linear(result, out_proj_weight, out_proj_bias).view(rows, batch, width)
    if shown is not None:
        shown = shown.view(batch, num_heads, rows, shown.shape[-1])
        shown = shown.mean(1) if average_attn_weights else shown
    if batched:
        return result, shown
    return result.squeeze(1), None if shown is None else shown.squeeze(0)


def _in_heads(part: Tensor, heads: int, width: int, static: Any) -> Any:
    """Return queries, keys or values as (heads of all samples, length, width), or those that the caller has computed."""
    return part.view(part.shape[0], heads, width).transpose(0, 1) if static is None else static


def _unweighted(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropped: float, is_causal: bool, sizes: tuple[int, int, int, int]
) -> Tensor:
    """Return the attention as rows, by the function that computes no weights; ``sizes`` are batch, heads, rows and a head's width."""
    batch, heads, rows, width = sizes
    if mask is not None:
        mask = mask.unsqueeze(0) if len(mask) == 1 else mask.view(batch, heads, -1, k.shape[1])
    q, k, v = (part.view(batch, heads, part.shape[1], width) for part in (q, k, v))
    result = functional.scaled_dot_product_attention(q, k, v, mask, dropped, is_causal and mask is None)
    return result.permute(2, 0, 1, 3).contiguous().view(rows * batch, heads * width)


def _added(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Return the additive attention mask; a boolean mask becomes -inf where it is True."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    return aten("masked_fill_.Scalar", aten("zeros_like", mask, dtype=query.dtype, pin_memory=False), mask, -math.inf)


def _longer(mask: Tensor | None) -> Tensor | None:
    """Return the mask with one more key, which is never masked."""
    return None if mask is None else functional.pad(mask, (0, 1))


def _combined_masks(masks: list[Any], batch: int, heads: int, keys: int) -> Tensor | None:
    """Combine the attention mask and the key padding mask for all heads of all samples."""
    mask, of_keys = masks
    if of_keys is None:
        return mask
    of_keys = of_keys.view(batch, 1, 1, keys).expand(-1, heads, -1, -1).reshape(batch * heads, 1, keys)
    return of_keys if mask is None else mask + of_keys


def _weighted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropped: float) -> tuple[Any, Any]:
    """Return the attention output of each head, and the attention weights."""
    scaled, turned = q * math.sqrt(1.0 / float(q.shape[-1])), k.transpose(-2, -1)
    weights = aten("bmm", scaled, turned) if mask is None else aten("baddbmm", mask, scaled, turned)
    weights = functional.softmax(weights, dim=-1)
    if dropped:
        weights = functional.dropout(weights, dropped)
    return aten("bmm", weights, v), weights


def _projected(
    functional: ModuleType, query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Any
) -> tuple[Tensor, Tensor, Tensor]:
    width = query.shape[-1]
    if query is key and key is value:
        parts = functional.linear(query, weight, bias).unflatten(-1, (3, width))
        parts = parts.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return parts[0], parts[1], parts[2]
    if key is value:
        weights = weight.split([width, 2 * width])
        biases = (None, None) if bias is None else bias.split([width, 2 * width])
        q, both = (functional.linear(x, w, b) for x, w, b in zip((query, key), weights, biases))
        both = both.unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return q, both[0], both[1]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


@composite("scaled_dot_product_attention")
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: Any = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    mask_needs = attn_mask is not None and modes.grad and is_tracked(attn_mask)
    if attn_mask is not None and not attn_mask.dtype.is_floating_point:
        low = aten("scalar_tensor", -math.inf, dtype=query.dtype, device=query.device)
        zero = aten("scalar_tensor", 0.0, dtype=query.dtype, device=query.device)
        attn_mask = aten("where.self", attn_mask, zero, low)
    if query.dim() != 4 or dropout_p or mask_needs or query.shape[-1] != value.shape[-1]:
        if enable_gqa and query.shape[-3] != key.shape[-3]:
            raise NotInTerms("mstorch: this attention with groups of queries is not known in the terms of torch.ops.aten")
        return _attention_of_parts(query, key, value, attn_mask, dropout_p, is_causal, scale)
    named = {name: value for name, value in (("attn_mask", attn_mask), ("scale", scale)) if value is not None}
    return aten("_scaled_dot_product_flash_attention_for_cpu", query, key, value, 0.0, is_causal, **named)[0]


def _attention_of_parts(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, scale: Any
) -> Tensor:
    """Return attention by matrix products, for cases in which torch has no fused kernel."""
    root = math.sqrt(1.0 / math.sqrt(query.shape[-1]) if scale is None else scale)
    query = aten("mul.Scalar", query, root)
    if is_causal:
        ones = aten("ones", [query.shape[-2], key.shape[-2]], dtype=bool_, device=query.device)
        kept = aten("tril", ones)
        low = aten("scalar_tensor", -math.inf, dtype=query.dtype, device=query.device)
        mask = aten("where.self", kept, aten("scalar_tensor", 0.0, dtype=query.dtype, device=query.device), low)
    weights = matmul(query, aten("mul.Scalar", aten("transpose.int", key, -2, -1), root))
    weights = aten("_safe_softmax", weights if mask is None else aten("add.Tensor", weights, mask), -1)
    return matmul(dropout(weights, dropout_p) if dropout_p else weights, value)
