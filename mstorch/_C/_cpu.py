"""torch._C._cpu: torch's CPU feature queries, for callers that check which ones exist."""
from __future__ import annotations

from .._src.hook import missing

__all__: list[str] = []

__getattr__ = missing("mstorch._C._cpu")
