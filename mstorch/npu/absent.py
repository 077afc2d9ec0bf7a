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


_POOL = "MindSpore keeps its memory pool to itself"
_GRAPH = "graphs of a device are MindSpore's own"
_DEVICE = "MindSpore does not reach the device so far"
_DUMP = "MindSpore's own dump is set by its environment variables"

caching_allocator_alloc = _function("caching_allocator_alloc", _POOL)
caching_allocator_delete = _function("caching_allocator_delete", _POOL)
change_current_allocator = _function("change_current_allocator", _POOL)
get_allocator_backend = _function("get_allocator_backend", _POOL)
get_per_process_memory_fraction = _function("get_per_process_memory_fraction", _POOL)
host_memory_stats = _function("host_memory_stats", _POOL)
host_memory_stats_as_nested_dict = _function("host_memory_stats_as_nested_dict", _POOL)
memory_snapshot = _function("memory_snapshot", _POOL)
reset_accumulated_host_memory_stats = _function("reset_accumulated_host_memory_stats", _POOL)
reset_accumulated_memory_stats = _function("reset_accumulated_memory_stats", _POOL)
reset_peak_host_memory_stats = _function("reset_peak_host_memory_stats", _POOL)
set_per_process_memory_fraction = _function("set_per_process_memory_fraction", _POOL)
use_mem_pool = _function("use_mem_pool", _POOL)
MemPool = _class("MemPool", _POOL)
NPUPluggableAllocator = _class("NPUPluggableAllocator", _POOL)

NPUGraph = _class("NPUGraph", _GRAPH)
NpuGraphOpHandler = _class("NpuGraphOpHandler", _GRAPH)
graph = _class("graph", _GRAPH)
graph_pool_handle = _function("graph_pool_handle", _GRAPH)
graph_task_group_begin = _function("graph_task_group_begin", _GRAPH)
graph_task_group_end = _function("graph_task_group_end", _GRAPH)
graph_task_update_begin = _function("graph_task_update_begin", _GRAPH)
graph_task_update_end = _function("graph_task_update_end", _GRAPH)
make_graphed_callables = _function("make_graphed_callables", _GRAPH)
register_npu_graph_handler = _function("register_npu_graph_handler", _GRAPH)
super_kernel_scope_begin = _function("super_kernel_scope_begin", _GRAPH)
super_kernel_scope_end = _function("super_kernel_scope_end", _GRAPH)

can_device_access_peer = _function("can_device_access_peer", _DEVICE)
check_uce_in_memory = _function("check_uce_in_memory", _DEVICE)
clear_npu_overflow_flag = _function("clear_npu_overflow_flag", _DEVICE)
current_blas_handle = _function("current_blas_handle", _DEVICE)
disable_deterministic_with_backward = _function("disable_deterministic_with_backward", "use torch.use_deterministic_algorithms(False)")
enable_deterministic_with_backward = _function("enable_deterministic_with_backward", "use torch.use_deterministic_algorithms(True)")
get_device_limit = _function("get_device_limit", _DEVICE)
get_npu_overflow_flag = _function("get_npu_overflow_flag", _DEVICE)
get_stream_limit = _function("get_stream_limit", _DEVICE)
npurt = _function("npurt", _DEVICE)
obfuscation_calculate = _function("obfuscation_calculate", _DEVICE)
obfuscation_finalize = _function("obfuscation_finalize", _DEVICE)
obfuscation_initialize = _function("obfuscation_initialize", _DEVICE)
reset_stream_limit = _function("reset_stream_limit", _DEVICE)
restart_device = _function("restart_device", _DEVICE)
set_aoe = _function("set_aoe", _DEVICE)
set_deterministic_level = _function("set_deterministic_level", "use torch.use_deterministic_algorithms")
set_device_limit = _function("set_device_limit", _DEVICE)
set_op_timeout_ms = _function("set_op_timeout_ms", _DEVICE)
set_option = _function("set_option", "options of ACL are set by MindSpore")
set_stream_limit = _function("set_stream_limit", _DEVICE)
set_sync_debug_mode = _function("set_sync_debug_mode", _DEVICE)
stop_device = _function("stop_device", _DEVICE)
stress_detect = _function("stress_detect", _DEVICE)
use_compatible_impl = _function("use_compatible_impl", _DEVICE)
utilization = _function("utilization", _DEVICE)
ExternalEvent = _class("ExternalEvent", _DEVICE)
ExternalStream = _class("ExternalStream", _DEVICE)
SyncLaunchStream = _class("SyncLaunchStream", _DEVICE)
mstx = _class("mstx", "marks of a profile are MindSpore's own")

init_dump = _function("init_dump", _DUMP)
set_dump = _function("set_dump", _DUMP)
finalize_dump = _function("finalize_dump", _DUMP)


def ipc_collect() -> None:
    """Do nothing: device memory is not shared between processes."""


def host_empty_cache() -> None:
    """Do nothing: mstorch has no cache of pinned host memory."""


def get_sync_debug_mode() -> int:
    """Return 0: synchronizations are not reported."""
    return 0


def is_current_stream_capturing() -> bool:
    """Return False: streams are never captured to a graph."""
    return False


def are_compatible_impl_enabled() -> bool:
    """Return False: operators do not imitate GPUs bit by bit."""
    return False


__all__ = [
    "ExternalEvent", "ExternalStream", "MemPool", "NPUGraph", "NPUPluggableAllocator", "NpuGraphOpHandler", "SyncLaunchStream",
    "are_compatible_impl_enabled", "caching_allocator_alloc", "caching_allocator_delete", "can_device_access_peer",
    "change_current_allocator", "check_uce_in_memory", "clear_npu_overflow_flag", "current_blas_handle",
    "disable_deterministic_with_backward", "enable_deterministic_with_backward", "finalize_dump", "get_allocator_backend",
    "get_device_limit", "get_npu_overflow_flag", "get_per_process_memory_fraction", "get_stream_limit", "get_sync_debug_mode", "graph",
    "graph_pool_handle", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin", "graph_task_update_end",
    "host_empty_cache", "host_memory_stats", "host_memory_stats_as_nested_dict", "init_dump", "ipc_collect",
    "is_current_stream_capturing", "make_graphed_callables", "memory_snapshot", "mstx", "npurt", "obfuscation_calculate",
    "obfuscation_finalize", "obfuscation_initialize", "register_npu_graph_handler", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_host_memory_stats", "reset_stream_limit", "restart_device", "set_aoe",
    "set_deterministic_level", "set_device_limit", "set_dump", "set_op_timeout_ms", "set_option", "set_per_process_memory_fraction",
    "set_stream_limit", "set_sync_debug_mode", "stop_device", "stress_detect", "super_kernel_scope_begin", "super_kernel_scope_end",
    "use_compatible_impl", "use_mem_pool", "utilization",
]  # fmt: skip
