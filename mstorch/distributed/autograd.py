"""torch.distributed.autograd: backward passes through remote procedure calls, which mstorch lacks."""
from __future__ import annotations

from .._src.hook import missing as _missing


def is_available() -> bool:
    """Return False: RPC is not supported."""
    return False


__getattr__ = _missing(__name__)
__all__ = ["is_available"]
