"""torch.distributed.tensor.experimental: functions of local parts, and plain tensors that count as replicated."""
from __future__ import annotations

from ...._hook import missing as _missing
from ...._leaving import item_set_to
from .._dtensor import replicating
from ._func_map import local_map

__all__ = ["implicit_replication", "local_map"]


def implicit_replication() -> item_set_to:
    """Return a context manager within which plain tensors beside DTensors count as replicated over their mesh."""
    return item_set_to(replicating, 0, True)


__getattr__ = _missing(__name__)
