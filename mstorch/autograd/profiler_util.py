"""torch.autograd.profiler_util: the events of a profile."""
from __future__ import annotations

from ._profile_events import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
