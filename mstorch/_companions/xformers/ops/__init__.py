"""xformers.ops: attention, a gated layer, functions on rows."""
from __future__ import annotations

from ... import absent
from . import fmha as fmha
from .fmha import (
    AttentionBias,
    LowerTriangularMask,
    memory_efficient_attention,
    memory_efficient_attention_forward,
    memory_efficient_attention_forward_requires_grad,
)
from .layers import RMSNorm, SwiGLU, index_select_cat, rms_norm, rms_norm_add, scaled_index_add, swiglu, unbind
from .products import masked_matmul, tiled_matmul
from .rope_padded import rope_padded

AttentionMask = AttentionBias

_INSTEAD = {
    "swiglu_packed": "xformers.ops.swiglu",
    **dict.fromkeys(("sparsify24", "sparsify24_like"), "torch.sparse.SparseSemiStructuredTensor, or dense weights"),
    **dict.fromkeys(("fused_allgather_and_linear", "fused_linear_and_reducescatter"), "torch.distributed and torch.nn.functional.linear"),
}


def __getattr__(name: str) -> object:
    if name in _INSTEAD:
        return absent(f"xformers.ops.{name}", f"write {_INSTEAD[name]}")
    if name.startswith("MemoryEfficientAttention"):  # operators to choose from: one computes them all
        return fmha.Operator(name)
    raise AttributeError(f"module 'xformers.ops' has no attribute '{name}'")


__all__ = [
    "AttentionBias", "AttentionMask", "LowerTriangularMask", "RMSNorm", "SwiGLU", "fmha", "index_select_cat", "masked_matmul",
    "memory_efficient_attention", "memory_efficient_attention_forward", "memory_efficient_attention_forward_requires_grad", "rms_norm",
    "rms_norm_add", "rope_padded", "scaled_index_add", "swiglu", "tiled_matmul", "unbind",
]  # fmt: skip
