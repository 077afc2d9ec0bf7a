"""torch._inductor: names of a compiler that is not here; what is told to it is told to nobody."""
from __future__ import annotations

from .._hook import missing as _missing

__all__: list[str] = []

__getattr__ = _missing(__name__, ("config", "decomposition"))
