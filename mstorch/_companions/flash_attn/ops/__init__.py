"""flash_attn.ops: normalization."""
