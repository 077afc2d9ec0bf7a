"""torch.autograd.profiler_util: the events of a profile."""
from ._profile_events import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
