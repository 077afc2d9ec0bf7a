"""Self-attention of nested tensors, which torch supports in inference only."""
from __future__ import annotations

from typing import Any

from ..._src.core.modes import modes
from ..._src.namespace.attention_choice import FASTPATH
from ..._tensor import Tensor
from .. import functional as F

_BOTH = (
    "supplying both src_key_padding_mask and src_mask at the same time                                  is not supported with NestedTensor "
    "input"
)


def _why_not(layer: Any, query: Tensor, key: Tensor, value: Tensor, masked: bool) -> str | None:
    """Return torch's reason for refusing a call, None if it accepts it."""
    kind = query.dtype
    weight, bias = layer.in_proj_weight, layer.in_proj_bias
    reasons = (
        (not FASTPATH["fastpath"], "torch.backends.mha.get_fastpath_enabled() was not True"),
        (query is not key or key is not value, "non-self attention was used (query, key, and value are not the same Tensor)"),
        (weight is None, "in_proj_weight was None"),
        (weight is not None and weight.dtype != kind, f"dtypes of query ({kind}) and self.in_proj_weight don't match"),
        (layer.training, "training is enabled"),
        (layer.num_heads % 2 != 0, "self.num_heads is not even"),
        (not layer.batch_first, "batch_first was not True"),
        (layer.bias_k is not None, "self.bias_k was not None"),
        (layer.bias_v is not None, "self.bias_v was not None"),
        (layer.add_zero_attn, "add_zero_attn was enabled"),
        (not layer._qkv_same_embed_dim, "_qkv_same_embed_dim was not True"),
        (masked, _BOTH),
        (repr(query.layout) == "torch.jagged", "some Tensor argument has_torch_function"),
        (modes.grad and (query.requires_grad or any(p.requires_grad for p in layer.parameters())),
         "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"),
        (bias is None, ""),
    )  # fmt: skip
    return next((reason for holds, reason in reasons if holds), None)


def attend(layer: Any, query: Tensor, key: Tensor, value: Tensor, masked: bool, need_weights: bool, average: bool) -> tuple[Any, Any]:
    """Return the layer's result and, on request, its attention weights, which are zero in padding. Raise AssertionError outside inference.
    """
    reason = _why_not(layer, query, key, value, masked)
    if reason is not None:
        raise AssertionError(
            f"MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit because {reason}"
        )
    count, heads = query.size(0), layer.num_heads
    three = F.linear(query, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)
    q, k, v = (item.contiguous().view(count, -1, heads, layer.head_dim).transpose(1, 2).contiguous() for item in three)
    found = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).contiguous().view(count, -1, layer.embed_dim)
    output = F.linear(found, layer.out_proj.weight, layer.out_proj.bias)
    return output, _weights(q, k, average) if need_weights else None


def _weights(query: Tensor, key: Tensor, average: bool) -> Tensor:
    """Return the weights of each head, or their mean, as (batch, [heads,] length, length)."""
    q, k = query.to_padded_tensor(0.0), key.to_padded_tensor(0.0)
    there = query.detach().clone().fill_(1.0).to_padded_tensor(0.0)[:, :1, :, :1].bool()
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    weights = scores.masked_fill(there.logical_not().transpose(-2, -1), float("-inf")).softmax(-1).masked_fill(there.logical_not(), 0.0)
    return weights.mean(1) if average else weights
