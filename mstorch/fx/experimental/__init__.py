"""torch.fx.experimental: helpers for tracing with dynamic sizes."""
