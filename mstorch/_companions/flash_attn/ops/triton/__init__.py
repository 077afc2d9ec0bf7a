"""flash_attn.ops.triton: normalization after a residual sum."""
