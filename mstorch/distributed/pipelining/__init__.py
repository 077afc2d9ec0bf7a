"""torch.distributed.pipelining: pipeline parallelism: a model in stages, one or more per rank, fed with microbatches."""
from ..._src.hook import missing as _missing
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS, _ScheduleForwardOnly
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "_ScheduleForwardOnly"]

__getattr__ = _missing(__name__, ("_utils", "microbatch", "schedules", "stage"))
