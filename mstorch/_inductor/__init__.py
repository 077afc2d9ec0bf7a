"""torch._inductor: names of a compiler that mstorch does not have; its options have no effect."""
from __future__ import annotations

from .._src.hook import missing as _missing

__all__: list[str] = []

__getattr__ = _missing(__name__, ("config", "decomposition"))
