"""torch._functorch: the few names of it that programs import beside ``torch.func``."""
from __future__ import annotations

from . import autograd_function, eager_transforms, make_functional

__all__ = ["autograd_function", "eager_transforms", "make_functional"]
