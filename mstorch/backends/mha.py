"""torch.backends.mha: the fast path of MultiheadAttention."""
from __future__ import annotations

from .._namespace.attention_choice import FASTPATH

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]



def get_fastpath_enabled() -> bool:
    """Return whether the fast path is enabled: as in torch, results in inference are contiguous, but mstorch computes them like all others.
    """
    return FASTPATH["fastpath"]


def set_fastpath_enabled(value: bool) -> None:
    """Enable or disable the fast path."""
    FASTPATH["fastpath"] = value
