"""torch_npu.profiler.profiler: the names of torch_npu.profiler."""
from . import (
    AiCMetrics,
    ExportType,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    analyse,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "AiCMetrics", "ExportType", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "analyse", "profile", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
