"""torch._export: what classes of tensors use of it."""
