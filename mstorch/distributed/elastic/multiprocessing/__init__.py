"""torch.distributed.elastic.multiprocessing: errors of launched processes."""
from . import errors
from .errors import ChildFailedError, ProcessFailure, record

__all__ = ["ChildFailedError", "ProcessFailure", "errors", "record"]
