"""torch.backends.mha: the fast path of MultiheadAttention."""
from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_state = {"fastpath": True}


def get_fastpath_enabled() -> bool:
    """Whether the fast path is allowed; a note that is kept: there is one path here."""
    return _state["fastpath"]


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path; a note that is kept."""
    _state["fastpath"] = value
