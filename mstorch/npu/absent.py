"""Names of torch.npu without an equivalent in MindSpore: they can be imported, and raise NotImplementedError when used."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _function(name: str, reason: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"mstorch: torch.npu.{name}(): {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise NotImplementedError: {reason}."
    return refuse


def _class(name: str, reason: str) -> type:
    refuse = _function(name, reason)
    return type(name, (), {"__init__": refuse, "__module__": __name__, "__doc__": refuse.__doc__})


_ABSENT = {
    "MindSpore keeps its memory pool to itself": (
        "MemPool NPUPluggableAllocator caching_allocator_alloc caching_allocator_delete change_current_allocator get_allocator_backend "
        "get_per_process_memory_fraction host_memory_stats host_memory_stats_as_nested_dict memory_snapshot "
        "reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_peak_host_memory_stats set_per_process_memory_fraction "
        "use_mem_pool"
    ),
    "graphs of a device are MindSpore's own": (
        "NpuGraphOpHandler register_npu_graph_handler super_kernel_scope_begin super_kernel_scope_end"
    ),
    "MindSpore does not reach the device so far": (
        "ExternalStream SyncLaunchStream can_device_access_peer check_uce_in_memory "
        "current_blas_handle get_device_limit get_stream_limit npurt obfuscation_calculate obfuscation_finalize "
        "obfuscation_initialize reset_stream_limit restart_device set_aoe set_device_limit set_op_timeout_ms set_stream_limit "
        "set_sync_debug_mode stop_device stress_detect utilization"
    ),
    "use torch.use_deterministic_algorithms(False)": "disable_deterministic_with_backward",
    "use torch.use_deterministic_algorithms(True)": "enable_deterministic_with_backward",
    "use torch.use_deterministic_algorithms": "set_deterministic_level",
    "marks of a profile are MindSpore's own": "mstx",
    "MindSpore's own dump is set by its environment variables": "finalize_dump init_dump set_dump",
}
"""Names by the reason for their absence."""
_CLASSES = frozenset((
    "ExternalStream", "MemPool", "NPUPluggableAllocator", "NpuGraphOpHandler", "SyncLaunchStream", "mstx",
))  # fmt: skip
MADE = {
    name: (_class if name in _CLASSES else _function)(name, reason) for reason, names in _ABSENT.items() for name in names.split()
}


def ipc_collect() -> None:
    """Do nothing: device memory is not shared between processes."""


def host_empty_cache() -> None:
    """Do nothing: mstorch has no cache of pinned host memory."""


def get_sync_debug_mode() -> int:
    """Return 0: synchronizations are not reported."""
    return 0
