"""The versions of mstorch, and of the torch whose API it implements."""
__version__ = "0.4.0"
TORCH_API = "2.13.0"
