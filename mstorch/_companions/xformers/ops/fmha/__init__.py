"""xformers.ops.fmha: attention of (batch, places, heads, size) with a bias."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .... import absent_names
from ....flash_attn.attending import Setting, attend, attend_packed, attend_with_sums, fused
from . import attn_bias as attn_bias
from .attn_bias import AttentionBias, BlockDiagonal, LowerTriangularMask, LowerTriangularMaskWithTensorBias

Tensor = torch.Tensor


class Operator:
    """One of xformers' implementations, by name; each is computed by scaled_dot_product_attention."""

    def __init__(self, name: str) -> None:
        self.NAME = name

    def __repr__(self) -> str:
        return f"<xformers operator {self.NAME}, by scaled_dot_product_attention>"


def _four(item: Tensor) -> Tensor:
    """Return (batch, places, heads, size), with one head if there is no dimension of heads."""
    if item.dim() == 3:
        return item.unsqueeze(2)
    if item.dim() == 5:  # heads of queries in groups that share a head of keys
        return item.flatten(2, 3)
    if item.dim() != 4:
        raise ValueError(f"attention takes (batch, places, heads, size), got {list(item.shape)}")
    return item


def _with_bias(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, p: float, scale: float | None) -> Tensor:
    if bias.dim() == 3:  # (batch * heads, queries, keys)
        bias = bias.view(query.shape[0], -1, *bias.shape[1:])
    mask = bias if bias.dtype in (torch.bool, query.dtype) else bias.to(query.dtype)
    return fused(query, key, value, mask, p, False, scale)


def _blocks(query: Tensor, key: Tensor, value: Tensor, bias: BlockDiagonal, p: float, scale: float | None) -> Tensor:
    if p == 0.0 and query.shape[0] == 1 and bias.follow(query.shape[1], key.shape[1]):
        ends = [stop for _, stop in bias.q_spans], [stop for _, stop in bias.k_spans]
        setting = Setting(0.0, scale, bool(bias.causal), (bias.window - 1 if bias.window > 0 else -1, -1))
        corner = "last" if bias.window > 0 else bias.causal  # a window has as many keys as queries, so that both are the same
        found = attend_packed(query[0], key[0], value[0], *ends, setting, corner or "last")
        if found is not None:
            return found[None]
    parts = [query[:, :0]]
    for (start, stop), (k_start, k_stop), causal, window in bias.blocks(query.shape[1], key.shape[1]):
        own = query[:, start:stop], key[:, k_start:k_stop], value[:, k_start:k_stop]
        parts.append(bias.attend_block(*own, causal, window, p, scale))
    return torch.cat(parts, 1)


def memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | AttentionBias | None = None, p: float = 0.0, scale: float | None = None,
    *, op: Any = None, output_dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Return ``softmax(query @ key.T * scale + bias) @ value`` for (batch, places, heads, size), (batch, places, size) or five dimensions
    with groups of heads. ``op`` chooses one of xformers' implementations, and is of no matter here."""
    shape = (*query.shape[:-1], value.shape[-1])
    q, k, v = map(_four, (query, key, value))
    if attn_bias is None:
        found = attend(q, k, v, Setting(p, scale))
    elif isinstance(attn_bias, Tensor):
        bias = attn_bias.flatten(1, 2) if attn_bias.dim() == 5 else attn_bias
        found = _with_bias(q, k, v, bias, p, scale)
    elif isinstance(attn_bias, BlockDiagonal):
        found = _blocks(q, k, v, attn_bias, p, scale)
    elif type(attn_bias) is LowerTriangularMask:
        found = fused(q, k, v, None, p, True, scale)
    elif isinstance(attn_bias, AttentionBias):
        bias = attn_bias.materialize((q.shape[0], q.shape[2], q.shape[1], k.shape[1]), q.dtype, q.device)
        found = _with_bias(q, k, v, bias, p, scale)
    else:
        raise ValueError(f"attn_bias must be a tensor or an AttentionBias, got {type(attn_bias)}")
    found = found.reshape(shape)
    return found if output_dtype is None else found.to(output_dtype)


def memory_efficient_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | AttentionBias | None = None, p: float = 0.0, scale: float | None = None,
    *, op: Any = None, output_dtype: torch.dtype | None = None,
) -> Tensor:  # fmt: skip
    """Return attention without gradients."""
    with torch.no_grad():
        return memory_efficient_attention(query, key, value, attn_bias, p, scale, op=op, output_dtype=output_dtype)


def memory_efficient_attention_forward_requires_grad(
    query: Tensor, key: Tensor, value: Tensor, attn_bias: Any = None, p: float = 0.0, scale: float | None = None, *, op: Any = None,
    output_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return attention and the logarithms of the sums of exponentials (batch, heads, places), without gradients."""
    if attn_bias is not None:
        raise NotImplementedError(
            "mstorch: memory_efficient_attention_forward_requires_grad has no biases; call memory_efficient_attention, or flash_attn_func"
        )
    with torch.no_grad():
        found, sums = attend_with_sums(_four(query), _four(key), _four(value), Setting(p, scale))
        return (found if output_dtype is None else found.to(output_dtype)).reshape(*query.shape[:-1], value.shape[-1]), sums


__getattr__ = absent_names("xformers.ops.fmha", dict.fromkeys(
    ("memory_efficient_attention_partial", "merge_attentions"), "memory_efficient_attention over all keys"
))  # fmt: skip
__all__ = [
    "AttentionBias", "LowerTriangularMask", "LowerTriangularMaskWithTensorBias", "Operator", "attn_bias", "memory_efficient_attention",
    "memory_efficient_attention_forward", "memory_efficient_attention_forward_requires_grad",
]  # fmt: skip
