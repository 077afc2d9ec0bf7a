"""Attention of whole modules in one call, under the names that torch's modules call in inference."""
from __future__ import annotations

import math

from ..._tensor import Tensor
from ..core.above import above
from ..core.warned import warn
from ..ops.elementwise.activation import gelu
from ..ops.layers.norm import layer_norm
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
    if mask is not None and mask.dtype is not above.torch.bool:
        warn(
            "Converting mask without torch.bool dtype to bool; this will negatively affect performance. Prefer to use a boolean mask "
            "directly."
        )
        mask = mask.to(above.torch.bool)
    weights = scores.softmax(-1) if mask is None else _masked_softmax(scores, mask, 3, mask_type)
    joined = matmul(weights, v).transpose(1, 2).reshape(query.shape[0], -1, embed_dim)
    found = linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return found, None
    return found, weights.mean(1) if average_attn_weights else weights


def _transformer_encoder_layer_fwd(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor,
    use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor, mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the result of an ``nn.TransformerEncoderLayer`` at rest, for (N, L, E) or a nested tensor of rows (L, E)."""
    if getattr(src, "_ms_nested", False):
        sizes = src._nested_tensor_size()
        dense = src.to_padded_tensor(0.0)
        places = above.torch.arange(dense.shape[1], device=dense.device)
        mask, mask_type = places.unsqueeze(0) >= sizes[:, :1].to(dense.device), 1
    else:
        sizes, dense = None, src

    def first(x: Tensor) -> Tensor:
        return layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    x = first(dense) if norm_first else dense
    x = dense + _native_multi_head_attention(
        x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
    )[0]  # fmt: skip
    x = x if norm_first else first(x)
    hidden = linear(second(x) if norm_first else x, ffn_weight_1, ffn_bias_1)
    x = x + linear(gelu(hidden) if use_gelu else hidden.relu(), ffn_weight_2, ffn_bias_2)
    x = x if norm_first else second(x)
    return x if sizes is None else above.torch._nested_from_padded(x, sizes)


FUNCTIONS = {
    function.__name__: function
    for function in (_transform_bias_rescale_qkv, _native_multi_head_attention, _transformer_encoder_layer_fwd)
}
