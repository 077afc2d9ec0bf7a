"""The versions of mstorch, and of the torch whose API it implements."""
__version__ = "0.3.0"
TORCH_API = "2.13.0"
