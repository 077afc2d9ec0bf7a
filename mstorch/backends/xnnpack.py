"""torch.backends.xnnpack: a library that MindSpore does not use."""
enabled: bool = False
