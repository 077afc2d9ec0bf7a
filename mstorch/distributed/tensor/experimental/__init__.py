"""torch.distributed.tensor.experimental: functions of local parts, and plain tensors that count as replicated."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...._hook import missing as _missing
from .._dtensor import replicating
from ._func_map import local_map

__all__ = ["implicit_replication", "local_map"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A ``with`` block in which plain tensors beside DTensors count as replicated over their mesh."""
    before = replicating[0]
    try:
        replicating[0] = True
        yield
    finally:
        replicating[0] = before


__getattr__ = _missing(__name__)
