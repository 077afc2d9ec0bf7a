"""flash_attn.ops.triton.layer_norm, which mamba_ssm has as well."""
from __future__ import annotations

from ....mamba_ssm.ops.triton.layer_norm import RMSNorm, layer_norm_fn, layer_norm_linear_fn, rms_norm_fn

__all__ = ["RMSNorm", "layer_norm_fn", "layer_norm_linear_fn", "rms_norm_fn"]
