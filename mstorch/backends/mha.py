"""torch.backends.mha: the fast path of MultiheadAttention."""
from __future__ import annotations

from .._src.namespace.attention_choice import FASTPATH

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]



def get_fastpath_enabled() -> bool:
    """Return True if the inference fast path is enabled. As in torch, its results are contiguous; mstorch computes them as without it."""
    return FASTPATH["fastpath"]


def set_fastpath_enabled(value: bool) -> None:
    """Enable or disable the fast path."""
    FASTPATH["fastpath"] = value
