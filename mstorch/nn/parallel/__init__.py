"""torch.nn.parallel: several devices in one process, as far as one device goes."""
from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
