"""torch.autograd.profiler_util: the events of a profile."""
from .._src.hook import missing as _missing
from ._profile_events import EventList, FunctionEvent, FunctionEventAvg
from ._profile_parts import Interval, Kernel

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel"]

__getattr__ = _missing(__name__)
