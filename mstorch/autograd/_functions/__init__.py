"""torch.autograd._functions: two operations as Functions, as before torch 0.4."""
from .tensor import Resize, Type

__all__ = ["Resize", "Type"]
