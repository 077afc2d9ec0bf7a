"""torch.backends.xnnpack: not used by MindSpore."""
enabled: bool = False
