"""mamba_ssm.models.config_mamba: sizes of a language model."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class MambaConfig:
    """Sizes and options of MambaLMHeadModel."""

    d_model: int = 2560
    d_intermediate: int = 0
    n_layer: int = 64
    vocab_size: int = 50277
    ssm_cfg: dict[str, Any] = field(default_factory=dict)
    attn_layer_idx: list[int] = field(default_factory=list)
    attn_cfg: dict[str, Any] = field(default_factory=dict)
    rms_norm: bool = True
    residual_in_fp32: bool = True
    fused_add_norm: bool = True
    pad_vocab_size_multiple: int = 8
    tie_embeddings: bool = True


__all__ = ["MambaConfig"]
