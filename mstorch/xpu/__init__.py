"""torch.xpu: Intel's GPUs, on which MindSpore does not run; functions behave as torch's without one."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any

from .._src.devices.faces import NO_STATS, NoSwitch, StreamContext, dummy, faces
from .._src.hook import missing as _missing
from .._tensor import Tensor

_NO = AssertionError("Torch not compiled with XPU enabled")
_SYSMAN = ImportError("pyzes is required; install it with 'pip install pyzes'.")
_made = faces(
    __name__,
    (_NO, "can_device_access_peer(device, peer); current_device(); current_stream(device=None); "
     "get_device_capability(device=None); get_device_name(device=None); get_device_properties(device=None); "
     "get_per_process_memory_fraction(device=None); get_rng_state(device='xpu'); get_stream_from_external(data_ptr, device=None); "
     "init(); initial_seed(); mem_get_info(device=None); set_device(device); set_per_process_memory_fraction(fraction, device=None); "
     "synchronize(device=None); "
     "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)"),
    (_SYSMAN, "clock_rate(device=None); device_memory_used(device=None); memory_usage(device=None); power_draw(device=None); "
     "temperature(device=None); utilization(device=None)"),
    (0, "device_count(); max_memory_allocated(device=None); max_memory_reserved(device=None); memory_allocated(device=None); "
     "memory_reserved(device=None)"),
    (None, "empty_cache(); manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); set_stream(stream)"),
    (False, "is_available(); is_initialized(); is_tf32_supported(); is_bf16_supported(including_emulation=True)"),
    ([], "get_arch_list(); get_rng_state_all(); memory_snapshot(mempool_id=None)"),
    ("", "get_gencode_flags()"),
    (NO_STATS, "memory_stats(device=None)"),
    ({}, "memory_stats_as_nested_dict(device=None)"),
    (AttributeError("module 'torch._C' has no attribute '_xpu_changeCurrentAllocator'"), "change_current_allocator(allocator)"),
    (AttributeError("module 'torch._C' has no attribute '_xpu_resetAccumulatedMemoryStats'"),
     "reset_accumulated_memory_stats(device=None)"),
    (AttributeError("module 'torch._C' has no attribute '_xpu_resetPeakMemoryStats'"), "reset_peak_memory_stats(device=None)"),
    (RuntimeError("Tried to instantiate dummy base class _xpu_graph_pool_handle"), "graph_pool_handle()"),
    (RuntimeError("Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing"), "is_current_stream_capturing()"),
)  # fmt: skip
globals().update(_made)
for _name in ("Event", "MemPool", "Stream", "XPUGraph"):
    globals()[_name] = dummy(__name__, _name, RuntimeError(f"Tried to instantiate dummy base class {_name}"))
for _name in ("XPUPluggableAllocator", "graph"):
    globals()[_name] = dummy(__name__, _name, _NO)
default_generators: tuple[Any, ...] = ()
_is_compiled = faces(__name__, (False, "_is_compiled()"))["_is_compiled"]


class device(NoSwitch):
    """Context manager that selects a device; without effect, as there is none."""


class device_of(device):
    """Context manager that selects the device of a tensor; without effect, as there is none."""


def stream(stream: Any) -> StreamContext:
    """Return a context manager that selects a stream; without a device it has no effect."""
    return StreamContext(stream)


def set_rng_state(new_state: Tensor, device: Any = "xpu") -> None:
    """Do nothing without a device, as in torch."""


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Do nothing without a device, as in torch."""


__all__ = sorted([name for name in _made if not name.startswith("_")] + [
    "Event", "MemPool", "Stream", "StreamContext", "XPUGraph", "XPUPluggableAllocator", "default_generators", "device", "device_of",
    "graph", "set_rng_state", "set_rng_state_all", "stream",
])  # fmt: skip

if not _TYPE_CHECKING:  # submodules that torch's import binds; they are imported on first access
    __getattr__ = _missing(__name__, ("graphs", "memory", "random", "streams"))
