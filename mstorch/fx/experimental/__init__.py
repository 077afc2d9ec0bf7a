"""torch.fx.experimental: what programs ask about tracing with sizes that vary."""
