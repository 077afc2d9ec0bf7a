"""torch.cuda if MindSpore has no GPU: its functions report that no GPU exists, or are torch.npu's while "cuda" is an alias of npu."""
from __future__ import annotations

from ..core.cuda_names import is_there
from .as_npu import AsNpu, as_npu
from .faces import NO_STATS, dummy, faces

_HOME = "mstorch.cuda"
_NO = AssertionError("Torch not compiled with CUDA enabled")
_NVML = ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.")


def require() -> None:
    """Raise torch's error if "cuda" names no device."""
    if not is_there():
        raise AssertionError("Torch not compiled with CUDA enabled")


def _dummy_base(name: str) -> RuntimeError:
    return RuntimeError(f"Tried to instantiate dummy base class {name}")


def _no_name(name: str) -> AttributeError:
    return AttributeError(f"module 'torch._C' has no attribute '{name}'")


_FACES = faces(
    _HOME,
    (_NO, "caching_allocator_alloc(size, device=None, stream=None); can_device_access_peer(device, peer_device); cudart(); "
     "current_blas_handle(); current_solver_handle(); current_stream(device=None); default_stream(device=None); "
     "get_device_capability(device=None); get_device_properties(device=None); get_per_process_memory_fraction(device=None); "
     "get_stream_from_external(data_ptr, device=None); get_sync_debug_mode(); ipc_collect(); mem_get_info(device=None); "
     "set_per_process_memory_fraction(fraction, device=None); set_sync_debug_mode(debug_mode)"),
    (_NVML, "device_memory_used(device=None); memory_usage(device=None); temperature(device=None); power_draw(device=None); "
     "clock_rate(device=None); utilization(device=None)"),
    (0, "max_memory_cached(device=None); max_memory_reserved(device=None); memory_cached(device=None); memory_reserved(device=None)"),
    (NO_STATS, "host_memory_stats(); memory_stats(device=None)"),
    ({}, "host_memory_stats_as_nested_dict(); memory_stats_as_nested_dict(device=None)"),
    (False, "is_tf32_supported()"),
    (None, "caching_allocator_enable(value=True); set_stream(stream)"),
    ([], "get_arch_list()"),
    ("", "get_gencode_flags()"),
    ("pynvml module not found, please install nvidia-ml-py", "list_gpu_processes(device=None)"),
    (KeyError("allocated_bytes.all.current"), "memory_summary(device=None, abbreviated=False)"),
    (_no_name("_cuda_cudaCachingAllocator_raw_delete"), "caching_allocator_delete(mem_ptr)"),
    (_no_name("_cuda_getAllocatorBackend"), "get_allocator_backend()"),
    (_no_name("_cuda_changeCurrentAllocator"), "change_current_allocator(allocator)"),
    (_no_name("_cuda_memorySnapshot"), "memory_snapshot(mempool_id=None, include_traces=True)"),
    (_no_name("_cuda_resetAccumulatedHostMemoryStats"), "reset_accumulated_host_memory_stats()"),
    (_no_name("_cuda_resetAccumulatedMemoryStats"), "reset_accumulated_memory_stats(device=None)"),
    (_no_name("_cuda_resetPeakMemoryStats"), "reset_max_memory_allocated(device=None); reset_max_memory_cached(device=None); "
     "reset_peak_memory_stats(device=None)"),
    (_no_name("_cuda_resetPeakHostMemoryStats"), "reset_peak_host_memory_stats()"),
    (AttributeError("'NoneType' object has no attribute 'cudaError'"), "check_error(res)"),
    (_dummy_base("_graph_pool_handle"), "graph_pool_handle()"),
    (_dummy_base("_cuda_isCurrentStreamCapturing"), "is_current_stream_capturing()"),
    (_dummy_base("CUDAGraph"), "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)"),
)  # fmt: skip
FUNCTIONS = {name: as_npu(function) for name, function in _FACES.items()}


def _dummy(name: str, error: BaseException) -> type:
    return AsNpu(name, (dummy(_HOME, name, error),), {"__module__": _HOME})


CLASSES = {
    name: _dummy(name, _dummy_base(name)) for name in ("CUDAGraph", "Event", "MemPool")
} | {
    "Stream": _dummy("Stream", RuntimeError("torch.cuda.Stream requires CUDA support")),
    "ExternalStream": _dummy("ExternalStream", RuntimeError("torch.cuda.Stream requires CUDA support")),
    "CUDAPluggableAllocator": _dummy("CUDAPluggableAllocator", _NO),
    "graph": _dummy("graph", RuntimeError("torch.cuda.Stream requires CUDA support")),
}  # fmt: skip
_KINDS = "BFloat16 Bool Byte Char Double Float Half Int Long Short"
for _kind in _KINDS.split():
    CLASSES[f"{_kind}Tensor"] = _dummy(
        f"{_kind}Tensor", TypeError(f"type torch.cuda.{_kind}Tensor not available. Torch not compiled with CUDA enabled.")
    )
for _kind in (_KINDS + " ComplexDouble ComplexFloat").split():
    CLASSES[f"{_kind}Storage"] = _dummy(f"{_kind}Storage", _NO)
