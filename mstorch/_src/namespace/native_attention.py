"""Attention of whole modules in one call, under the names that torch's modules call in inference."""
from __future__ import annotations

import math

from ..._tensor import Tensor
from ..ops.linalg.matmul import linear, matmul
from .inner import _masked_softmax


def _heads(tensor: Tensor, count: int) -> Tensor:
    batch, length, width = tensor.shape
    return tensor.reshape(batch, length, count, width // count).transpose(1, 2)


def _transform_bias_rescale_qkv(qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values of each head from (N, L, 3 E), with their bias added; queries are divided by the root of the head's
    width.
    """
    q, k, v = (_heads(part, num_heads) for part in (qkv + qkv_bias).chunk(3, -1))
    return (q / math.sqrt(q.shape[-1])).contiguous(), k.contiguous(), v.contiguous()


def _projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if query is key and key is value:
        q, k, v = linear(query, weight, bias).chunk(3, -1)
        return q, k, v
    weights, biases = weight.chunk(3), bias.chunk(3)
    q, k, v = (linear(part, w, b) for part, w, b in zip((query, key, value), weights, biases))
    return q, k, v


def _native_multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
    proj_bias: Tensor, mask: Tensor | None = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return the attention output of (N, L, E), and the attention weights, averaged over the heads or of each head; None without
    ``need_weights``.

    ``mask`` is True at positions that get no attention.
    """
    if any(getattr(part, "_ms_nested", False) for part in (query, key, value)):
        raise NotImplementedError("mstorch: torch._native_multi_head_attention takes no nested tensors; nn.MultiheadAttention does")
    if query.dim() != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.dim()}-D tensor")
    if key.dim() != 3:
        raise RuntimeError(f"expected 3-D `key`, got {key.dim()}-D tensor")
    if query.shape[2] != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}")
    if embed_dim % num_head:
        raise RuntimeError(f"D must divide evenly by num_head, got {embed_dim} and {num_head}")
    q, k, v = (_heads(part, num_head) for part in _projected(query, key, value, qkv_weight, qkv_bias))
    scores = matmul(q / math.sqrt(q.shape[-1]), k.transpose(-2, -1))
    weights = scores.softmax(-1) if mask is None else _masked_softmax(scores, mask, 3, mask_type)
    joined = matmul(weights, v).transpose(1, 2).reshape(query.shape[0], -1, embed_dim)
    found = linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return found, None
    return found, weights.mean(1) if average_attn_weights else weights


FUNCTIONS = {function.__name__: function for function in (_transform_bias_rescale_qkv, _native_multi_head_attention)}
