"""torch_npu.utils: what a machine has, FLOPs of a step, and names that raise because MindSpore has nothing for them."""
from __future__ import annotations

from typing import Any, NoReturn

from ...._src.core.warned import warn_once
from . import collect_env as collect_env
from . import cpp_extension as cpp_extension
from . import flops_count as flops_count
from . import patch_getenv as patch_getenv
from . import profiler as profiler
from . import storage as storage
from .collect_env import get_cann_version
from .flops_count import FlopsCounter


def set_thread_affinity(core_range: Any = None) -> None:
    """Warn once that nothing changes: MindSpore binds its own threads."""
    warn_once("torch_npu.utils.set_thread_affinity() changes nothing: write mindspore.runtime.set_cpu_affinity")


def reset_thread_affinity() -> None:
    """Warn once that nothing changes: MindSpore binds its own threads."""
    warn_once("torch_npu.utils.reset_thread_affinity() changes nothing: MindSpore binds its threads itself")


def register_asd_hook(*args: Any, **options: Any) -> NoReturn:
    """Raise NotImplementedError: the detection of silent faults in gradients."""
    raise NotImplementedError("mstorch: torch_npu.utils.register_asd_hook(): the detection of silent faults")


__all__ = [
    "FlopsCounter", "collect_env", "cpp_extension", "flops_count", "get_cann_version", "patch_getenv", "profiler", "register_asd_hook",
    "reset_thread_affinity", "set_thread_affinity", "storage",
]  # fmt: skip
