"""The versions: mstorch's own, and that of the torch whose API it has."""
__version__ = "0.3.0"
TORCH_API = "2.13.0"
