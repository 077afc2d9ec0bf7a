"""torch.distributed.tensor.experimental: ``local_map``, and implicit replication of plain tensors."""
from __future__ import annotations

from ...._src.hook import missing as _missing
from ...._src.leaving import item_set_to
from .._dtensor import replicating
from ._func_map import local_map

__all__ = ["implicit_replication", "local_map"]


def implicit_replication() -> item_set_to:
    """Return a context manager in which plain tensors mixed with DTensors count as replicated."""
    return item_set_to(replicating, 0, True)


__getattr__ = _missing(__name__)
