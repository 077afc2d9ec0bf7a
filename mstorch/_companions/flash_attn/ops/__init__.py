"""flash_attn.ops: RMS norm."""
