"""torch.nn.parallel: several devices in one process, as far as one device goes; several processes."""
from __future__ import annotations

import importlib
from typing import Any

from ..._hook import missing as _missing
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
    """Load the modules on process groups, which few programs need, when they are asked for."""
    if name == "DistributedDataParallel":
        return importlib.import_module(f"{__name__}.distributed").DistributedDataParallel
    return _found_later(name)
