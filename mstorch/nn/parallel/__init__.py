"""torch.nn.parallel: DataParallel, for the one device of a process, and DistributedDataParallel."""
from __future__ import annotations

import importlib
from typing import Any

from ..._src.hook import missing as _missing
from . import scatter_gather
from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "distributed", "gather", "parallel_apply", "replicate", "scatter",
    "scatter_gather",
]  # fmt: skip

_found_later = _missing(__name__, ("distributed",))


def __getattr__(name: str) -> Any:
    """Import the modules that need process groups on first access."""
    if name == "DistributedDataParallel":
        return importlib.import_module(f"{__name__}.distributed").DistributedDataParallel
    return _found_later(name)
