"""torch.cuda.memory: GPU memory statistics."""
from .. import cuda as _cuda
from .._src.hook import missing as _missing

_NAMES = (
    "caching_allocator_alloc", "caching_allocator_delete", "set_per_process_memory_fraction", "empty_cache", "memory_stats",
    "memory_stats_as_nested_dict", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "memory_cached", "max_memory_cached", "memory_snapshot", "memory_summary", "list_gpu_processes", "mem_get_info",
    "get_allocator_backend", "CUDAPluggableAllocator", "change_current_allocator", "MemPool", "use_mem_pool",
)  # fmt: skip
__all__ = list(_NAMES)
globals().update({name: getattr(_cuda, name) for name in __all__})

__getattr__ = _missing("mstorch.cuda.memory")
