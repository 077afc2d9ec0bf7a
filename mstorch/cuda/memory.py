"""torch.cuda.memory: GPU memory statistics."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._src.backend import runtime
from .._src.core.cuda_names import is_there
from .._src.core.device import device as _device
from .._src.devices import no_cuda as _no_cuda
from .._src.hook import missing as _missing

_NAMES = (
    "caching_allocator_alloc", "caching_allocator_delete", "set_per_process_memory_fraction", "empty_cache", "memory_stats",
    "memory_stats_as_nested_dict", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "memory_cached", "max_memory_cached", "memory_snapshot", "memory_summary", "list_gpu_processes", "mem_get_info",
    "get_allocator_backend", "CUDAPluggableAllocator", "change_current_allocator", "MemPool", "use_mem_pool",
)  # fmt: skip
__all__ = list(_NAMES)
_FACES = _no_cuda.FUNCTIONS | _no_cuda.CLASSES
globals().update({name: _FACES[name] for name in __all__ if name in _FACES})

__getattr__ = _missing("mstorch.cuda.memory")


def empty_cache() -> None:
    """Release unused cached GPU memory; no-op without a GPU."""
    if is_there():
        runtime.empty_cache()


def memory_allocated(device: int | str | _device | None = None) -> int:
    """Return the bytes allocated by tensors on the GPU; 0 without one."""
    return runtime.memory_allocated() if is_there() else 0


def max_memory_allocated(device: int | str | _device | None = None) -> int:
    """Return the peak of the bytes allocated by tensors on the GPU; 0 without one."""
    return runtime.max_memory_allocated() if is_there() else 0


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Raise AttributeError on entry: MindSpore does not expose its allocator."""
    raise AttributeError("module 'torch._C' has no attribute '_cuda_cudaCachingAllocator_is_enabled'")
    yield


@contextlib.contextmanager
def use_mem_pool(pool: Any, device: int | str | _device | None = None) -> Iterator[None]:
    """Raise on entry: MindSpore does not expose its memory pools."""
    _no_cuda.require()
    raise NotImplementedError("mstorch: MindSpore keeps its memory pools to itself")
    yield
