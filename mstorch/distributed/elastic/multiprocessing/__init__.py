"""torch.distributed.elastic.multiprocessing: what went wrong in launched processes."""
from . import errors
from .errors import ChildFailedError, ProcessFailure, record

__all__ = ["ChildFailedError", "ProcessFailure", "errors", "record"]
