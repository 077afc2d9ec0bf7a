"""mamba_ssm.ops.triton.layernorm: the name of layer_norm before version 2."""
from __future__ import annotations

from .layer_norm import RMSNorm, layer_norm_fn, layer_norm_linear_fn, rms_norm_fn

__all__ = ["RMSNorm", "layer_norm_fn", "layer_norm_linear_fn", "rms_norm_fn"]
