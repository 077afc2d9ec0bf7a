"""torch.fx.experimental: what programs use for tracing with dynamic sizes."""
