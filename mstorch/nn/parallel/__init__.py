"""torch.nn.parallel: several devices in one process, as far as one device goes; several processes."""
from . import distributed, scatter_gather
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, parallel_apply, replicate, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "distributed", "gather", "parallel_apply", "replicate", "scatter",
    "scatter_gather",
]  # fmt: skip
