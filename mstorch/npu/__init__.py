"""torch.npu, the device namespace of torch_npu; available where MindSpore computes on an Ascend device."""
from __future__ import annotations

import typing as _typing
from importlib import import_module
from typing import Any

from .._src.backend import binding, runtime
from .._src.backend import streams as _native
from .._src.backend.recording import refuse_waiting as _refuse_waiting
from .._src.core.device import device as _device
from .._src.core.device import index_of as _index_of
from .._src.core.no_memory import tells_no_memory
from .._src.core.warned import warn_once
from . import amp, memory, random
from .absent import MADE as _ABSENT
from .absent import (
    get_sync_debug_mode,
    host_empty_cache,
    ipc_collect,
)
from .kinds import MADE as _KINDS
from .memory import (
    empty_cache,
    empty_virt_addr_cache,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .settings import (
    CubeMathType,
    aclnn,
    are_compatible_impl_enabled,
    config,
    conv,
    get_amp_supported_dtype,
    get_autocast_dtype,
    get_mm_bmm_format_nd,
    is_autocast_enabled,
    is_jit_compile_false,
    matmul,
    set_autocast_dtype,
    set_autocast_enabled,
    set_compile_mode,
    set_mm_bmm_format_nd,
    set_option,
    use_compatible_impl,
)
from .state import is_available, require
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream


def device_count() -> int:
    """Return the number of Ascend devices that MindSpore sees."""
    return binding.count() if is_available() else 0


def is_initialized() -> bool:
    """Return whether an Ascend device is in use."""
    return is_available() and binding.is_used()


def init() -> None:
    """Initialize the device; raise if there is none."""
    require()


def current_device() -> int:
    """Return the index of the current device."""
    require()
    return binding.index()


def set_device(device: int | str | _device) -> None:
    """Select the device. Raise RuntimeError once the process computes on another device."""
    require()
    binding.choose(_index_of(device))


def get_device_name(device: int | str | _device | None = None) -> str:
    """Return the name of a device."""
    require()
    return runtime.device_name(_index_of(device))


@tells_no_memory
def synchronize(device: int | str | _device | None = None) -> None:
    """Wait until the device has completed all work."""
    require()
    _index_of(device)
    _refuse_waiting()
    runtime.synchronize()


def is_bf16_supported() -> bool:
    """Return whether the device supports bfloat16."""
    return is_available()


def get_device_capability(device: int | str | _device | None = None) -> None:
    """Return None, with a warning: Ascend devices have no compute capability."""
    require()
    _index_of(device)
    warn_once("torch.npu.get_device_capability() gives None: Ascend devices have no compute capability")


class DeviceProperties:
    """The properties of a device. Its memory is queried on access, because MindSpore has to initialize the device for that."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def total_memory(self) -> int:
        """The device's memory in bytes."""
        return _native.memory_info()[1]

    def __repr__(self) -> str:
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB)"


class _PropertiesOfGPU(DeviceProperties):
    """The properties of a GPU."""

    def __init__(self, name: str, major: int, minor: int, processors: int) -> None:
        super().__init__(name)
        self.major, self.minor, self.multi_processor_count = major, minor, processors

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: int | str | _device | None = None) -> DeviceProperties:
    """Return a device's name and its memory in bytes (the host's for the stand-in device); of a GPU also its capability and the number of
    its processors."""
    name = get_device_name(device)
    if runtime.device_type() != "cuda":
        return DeviceProperties(name)
    index = _index_of(device)
    return _PropertiesOfGPU(name, *runtime.capability(index), runtime.processors(index))


class device:
    """Context manager that selects a device. Raises RuntimeError once the process computes on another device."""

    def __init__(self, device: Any) -> None:
        self.idx = device if isinstance(device, int) or device is None else _device(device).index

    def __enter__(self) -> None:
        self.prev_idx = binding.index()
        if self.idx is not None and self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if not binding.is_used():
            binding.choose(self.prev_idx)


class device_of(device):
    """Context manager that selects the device of a tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_npu", False) else None)


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call a function: the device needs no start that it would have to wait for."""
    callable()


_lazy_init = init
_OF_GRAPHS = (
    "ExternalEvent", "NPUGraph", "graph", "graph_pool_handle", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin",
    "graph_task_update_end", "is_current_stream_capturing", "make_graphed_callables",
)  # fmt: skip
"""Names of ``torch.npu.graphs``, which is imported when one of them is used: it compiles."""
globals().update(_ABSENT | _KINDS)
if _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the names in the two tables

else:

    def __getattr__(name: str) -> Any:
        """Return the generators of the devices, of which a process has one; the other modules are imported when they are asked for."""
        if name == "default_generators":
            return (random.device_generator(),) * max(1, device_count())
        if name in ("graphs", "utils"):
            return import_module(f"{__name__}.{name}")
        if name in _OF_GRAPHS or name in ("_launch_host_func", "_subscribe_report", "_unsubscribe_report"):
            return getattr(import_module(f"{__name__}.graphs"), name)
        if name in ("clear_npu_overflow_flag", "get_npu_overflow_flag", "get_soc_version"):
            return getattr(import_module(f"{__name__}.utils"), name)
        if name == "profile":
            return import_module("mstorch._companions.torch_npu.profiler").profile
        raise AttributeError(f"module 'torch.npu' has no attribute '{name}'", name=name)
__all__ = [
    *_ABSENT, *_KINDS, *_OF_GRAPHS, "clear_npu_overflow_flag", "get_npu_overflow_flag", "use_compatible_impl",
    "CubeMathType", "DeviceProperties", "Event", "Stream", "StreamContext", "aclnn", "amp", "are_compatible_impl_enabled", "config", "conv",
    "current_device", "current_stream", "default_stream", "device", "device_count", "device_of", "empty_cache", "empty_virt_addr_cache",
    "get_amp_supported_dtype", "get_autocast_dtype", "get_device_capability", "get_device_name", "get_device_properties",
    "get_mm_bmm_format_nd", "get_rng_state", "get_rng_state_all", "get_sync_debug_mode", "host_empty_cache", "init", "initial_seed",
    "ipc_collect", "is_autocast_enabled", "is_available", "is_bf16_supported", "is_initialized",
    "is_jit_compile_false", "manual_seed", "manual_seed_all", "matmul", "max_memory_allocated", "max_memory_cached",
    "max_memory_reserved", "mem_get_info", "memory", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "random", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "seed", "seed_all", "set_autocast_dtype", "set_autocast_enabled", "set_compile_mode", "set_device",
    "set_mm_bmm_format_nd", "set_option", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip
