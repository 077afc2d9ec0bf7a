"""torch.utils: data loading and other helpers."""
