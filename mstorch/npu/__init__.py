"""torch.npu, as users of Ascend devices write it. ``mstorch.npu`` is there where MindSpore computes on one."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .._backend import binding, runtime
from .._backend import streams as _native
from .._core.device import device as _device
from .._core.device import index_of as _index_of
from .._core.generator import device_generator, seed_devices
from . import amp, memory
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream


def is_available() -> bool:
    """Whether MindSpore computes on an Ascend device."""
    return runtime.device_type() == "npu"


def device_count() -> int:
    """The Ascend devices that MindSpore sees."""
    return binding.count() if is_available() else 0


def is_initialized() -> bool:
    """Whether an Ascend device is in use."""
    return is_available() and binding.is_used()


def _require() -> None:
    if not is_available():
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")


def init() -> None:
    """Start using the device; raises if there is none."""
    _require()


def current_device() -> int:
    """The index of the device in use."""
    _require()
    return binding.index()


def set_device(device: Any) -> None:
    """Compute on the device of an index from now on; RuntimeError once the process computes on another."""
    _require()
    binding.choose(_index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    _require()
    return runtime.device_name(_index_of(device))


def synchronize(device: Any = None) -> None:
    """Wait until the device has done what it was given."""
    _require()
    _index_of(device)
    runtime.synchronize()


def manual_seed(seed: int) -> None:
    """Seed the device's generator; ignored without one."""
    seed_devices(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; ignored without one."""
    seed_devices(int(seed))


def initial_seed() -> int:
    """The seed of the device's generator."""
    _require()
    return device_generator().initial_seed()


def get_rng_state(device: Any = "npu") -> Any:
    """The state of the device's generator, a uint8 tensor of 16 bytes."""
    _require()
    return device_generator().get_state()


def set_rng_state(new_state: Any, device: Any = "npu") -> None:
    """Restore the state of the device's generator."""
    _require()
    device_generator().set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators; without a device none."""
    return [get_rng_state()] if is_available() else []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states that ``get_rng_state_all`` gave."""
    for state in new_states:
        set_rng_state(state)


def seed() -> None:
    """Seed the device's generator from the operating system; ignored without one."""
    if is_available():
        device_generator().seed()


def seed_all() -> None:
    """Seed the generators of all devices from the operating system; ignored without one."""
    seed()


def is_bf16_supported() -> bool:
    """Whether the device computes in bfloat16."""
    return is_available()


class DeviceProperties(NamedTuple):
    """What is told of a device."""

    name: str
    total_memory: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """The name of a device and its memory in bytes (0 for the stand-in)."""
    return DeviceProperties(get_device_name(device), _native.total_memory(0))


class device:
    """Compute on a device inside of a ``with`` block; RuntimeError once the process computes on another."""

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
    """Compute on the device of a tensor inside of a ``with`` block."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if getattr(obj, "is_npu", False) else None)


_lazy_init = init
__all__ = [
    "DeviceProperties", "Event", "Stream", "StreamContext", "amp", "current_device", "current_stream", "default_stream", "device",
    "device_count", "device_of", "empty_cache", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init",
    "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed",
    "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip
