"""torch._functorch: the few names of it that programs import beside ``torch.func``."""
from __future__ import annotations

from . import apis, autograd_function, deprecated, eager_transforms, make_functional

__all__ = ["apis", "autograd_function", "deprecated", "eager_transforms", "make_functional"]
