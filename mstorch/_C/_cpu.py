"""torch._C._cpu: what torch's compiled part says of the processor, for those who ask whether it says anything."""
from __future__ import annotations

from .._hook import missing

__all__: list[str] = []

__getattr__ = missing("mstorch._C._cpu")
