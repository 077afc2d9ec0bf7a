"""torch._dynamo.eval_frame: the class of compiled modules."""
from __future__ import annotations

from .._compile import OptimizedModule


def is_dynamo_supported() -> bool:
    """True: ``torch.compile`` works here."""
    return True


def is_inductor_supported() -> bool:
    """True: the backend's name is taken for MindSpore's graphs."""
    return True


__all__ = ["OptimizedModule", "is_dynamo_supported", "is_inductor_supported"]
