"""torch._dynamo.eval_frame: the class of compiled modules."""
from __future__ import annotations

from .._src.compile import OptimizedModule
from .._src.hook import missing as _missing


def is_dynamo_supported() -> bool:
    """Return True: ``torch.compile`` is supported."""
    return True


def is_inductor_supported() -> bool:
    """Return True: backend "inductor" is mapped to MindSpore's graphs."""
    return True


__all__ = ["OptimizedModule", "is_dynamo_supported", "is_inductor_supported"]

__getattr__ = _missing("mstorch._dynamo.eval_frame")
