"""Multi-head attention (https://arxiv.org/abs/1706.03762)."""
from __future__ import annotations

from typing import Any

from ... import init
from ..._src.core.dtype import dtype
from ..._src.core.modes import modes
from ..._src.core.nested_parts import nested_in
from ..._src.core.overriding import PLAIN
from ..._src.namespace.attention_choice import FASTPATH
from ..._tensor import Tensor
from .. import functional as F
from . import _nested_attention
from ._made import parameter
from ._state import complete
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Multi-head attention with ``num_heads`` heads of size ``embed_dim // num_heads``."""

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        made = {"device": device, "dtype": dtype}
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim, **made)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim, **made)
            self.k_proj_weight = parameter(embed_dim, self.kdim, **made)
            self.v_proj_weight = parameter(embed_dim, self.vdim, **made)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = parameter(3 * embed_dim, **made)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        if add_bias_kv:
            self.bias_k = parameter(1, 1, embed_dim, **made)
            self.bias_v = parameter(1, 1, embed_dim, **made)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(complete(state, _qkv_same_embed_dim=True))  # early files lack it

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Apply the layer: (L, N, E), (S, N, K), (S, N, V), also batch first or unbatched → (L, N, E), weights (N, L, S)."""
        if nested_in(query, key, value):
            masked = attn_mask is not None or key_padding_mask is not None
            return _nested_attention.attend(self, query, key, value, masked, need_weights, average_attn_weights)
        fast = self._goes_fast(query, key, value, attn_mask, key_padding_mask)
        other = None if attn_mask is None else attn_mask.dtype
        key_padding_mask = F._canonical_mask(key_padding_mask, "key_padding_mask", other, "attn_mask", query.dtype)
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        batched = query.dim() == 3
        if self.batch_first and batched:
            same_key, same_value = query is key, key is value
            query, old_key = query.transpose(1, 0), key
            key = query if same_key else old_key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal and not (fast and attn_mask is None),
        )  # fmt: skip
        if fast:
            return output.transpose(1, 0).contiguous(), weights
        return (output.transpose(1, 0) if self.batch_first and batched else output), weights

    def _goes_fast(self, query: Tensor, key: Tensor, value: Tensor, *masks: Tensor | None) -> bool:
        """Return True if torch would take its inference fast path, which returns a contiguous result and ignores ``is_causal``."""
        if not self.batch_first or self.training or query is not key or key is not value or query.dim() != 3:
            return False
        if modes.grad and (query.requires_grad or any(p.requires_grad for p in self.parameters())):
            return False
        if not self._qkv_same_embed_dim or self.in_proj_bias is None or self.bias_k is not None or self.add_zero_attn or self.num_heads % 2:
            return False
        if any(mask is not None and mask.is_floating_point() for mask in masks) or query.dtype is not self.in_proj_weight.dtype:
            return False
        return FASTPATH["fastpath"] and type(query) in PLAIN

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks merged into one, and the mask type: 1 for a padding mask only, 2 for (N, heads, L, L)."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


__all__ = ["MultiheadAttention"]
