"""torch.distributed.elastic.multiprocessing: errors of launched processes."""
from ...._src.hook import missing as _missing
from . import errors
from .api import SignalException, Std, to_map
from .errors import ChildFailedError, ProcessFailure, record

__all__ = ["ChildFailedError", "ProcessFailure", "SignalException", "Std", "errors", "record", "to_map"]

__getattr__ = _missing(__name__)
