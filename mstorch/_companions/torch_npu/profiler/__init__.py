"""torch_npu.profiler: torch.profiler under torch_npu's names and options; it times operations on the host."""
from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable
from typing import Any

from .... import profiler as _torch
from ...._src.core.warned import warn, warn_once
from ....profiler import ProfilerAction as ProfilerAction
from ....profiler import schedule as schedule


class ProfilerActivity(enum.Enum):
    """Activities that can be timed: the host part of operations."""

    CPU = 0
    NPU = 5


class ExportType(enum.Enum):
    """Export formats of MindSpore's profiler; stored, not used."""

    Text = "text"
    Db = "db"


class ProfilerLevel(enum.Enum):
    """Level of detail of the device's records; stored, not used."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics(enum.Enum):
    """The hardware counters of the device's cores; stored, not used."""

    AiCoreNone = "AiCoreNone"
    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"


class _ExperimentalConfig:
    """Settings of torch_npu's profiler, stored only. Warns that no counters are collected."""

    def __init__(
        self, profiler_level: ProfilerLevel = ProfilerLevel.Level0, aic_metrics: AiCMetrics = AiCMetrics.AiCoreNone, l2_cache: bool = False,
        msprof_tx: bool = False, data_simplification: bool = True, record_op_args: bool = False, op_attr: bool = False,
        gc_detect_threshold: float | None = None, export_type: Any = ExportType.Text, **others: Any,
    ) -> None:  # fmt: skip
        counters = {
            "aic_metrics": aic_metrics is not AiCMetrics.AiCoreNone, "l2_cache": l2_cache, "msprof_tx": msprof_tx,
            "record_op_args": record_op_args, "op_attr": op_attr, "gc_detect_threshold": gc_detect_threshold is not None,
        }  # fmt: skip
        asked = [name for name, given in (counters | others).items() if given]
        if asked:
            warn(f"torch_npu.profiler times operations as the host sees them, and collects nothing of the device: {', '.join(asked)}")
        self.profiler_level, self.export_type = profiler_level, export_type


def supported_activities() -> set[ProfilerActivity]:
    """Return the set of supported activities."""
    return set(ProfilerActivity)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[[Any], None]:  # fmt: skip
    """Return a handler that writes each trace to a new file in a folder."""
    return _torch.tensorboard_trace_handler(dir_name, worker_name)


class profile(_torch.profile):
    """``torch.profiler.profile`` with torch_npu's activities."""

    def __init__(
        self, *, activities: Iterable[Any] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False, with_flops: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
    ) -> None:  # fmt: skip
        names = None if activities is None else [activity.name for activity in activities]
        known = {"CPU", "NPU", "CUDA", "PrivateUse1"}
        super().__init__(
            activities=None if names is None else {_torch.ProfilerActivity.CPU} if known.intersection(names) else set(),
            schedule=schedule, on_trace_ready=on_trace_ready, record_shapes=record_shapes, profile_memory=profile_memory,
            with_stack=with_stack, with_modules=with_modules, with_flops=with_flops,
        )  # fmt: skip


def analyse(profiler_path: str, *args: Any, **options: Any) -> None:
    """Say once that there is nothing to analyse: traces and tables are written when a profile ends.
    Raise FileNotFoundError without the folder."""
    if not os.path.isdir(profiler_path):
        raise FileNotFoundError(profiler_path)
    warn_once("torch_npu.profiler.analyse() has no effect: traces and tables are written when a profile ends")


__all__ = [
    "AiCMetrics", "ExportType", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "profile", "schedule", "supported_activities",
    "analyse", "tensorboard_trace_handler",
]  # fmt: skip
