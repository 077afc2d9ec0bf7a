"""apex.transformer.functional: rotary embeddings and masked softmax."""

from __future__ import annotations

from .fused_rope import fused_apply_rotary_pos_emb, fused_apply_rotary_pos_emb_cached, fused_apply_rotary_pos_emb_thd
from .fused_softmax import (
    FusedScaleMaskSoftmax,
    generic_scaled_masked_softmax,
    scaled_masked_softmax,
    scaled_upper_triang_masked_softmax,
)

__all__ = [
    "FusedScaleMaskSoftmax", "fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_cached", "fused_apply_rotary_pos_emb_thd",
    "generic_scaled_masked_softmax", "scaled_masked_softmax", "scaled_upper_triang_masked_softmax",
]  # fmt: skip
