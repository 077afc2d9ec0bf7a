"""torch.npu, as users of Ascend devices write it. ``mstorch.npu`` is there where MindSpore computes on one."""
from __future__ import annotations

from typing import Any

from .._backend import runtime
from .._core.device import device as _device
from .._core.generator import device_generator, seed_devices
from .._devices.faces import NoSwitch as _NoSwitch


def is_available() -> bool:
    """Whether MindSpore computes on an Ascend device."""
    return runtime.device_type() == "npu"


def device_count() -> int:
    """The Ascend devices that MindSpore sees."""
    return runtime.device_count() if is_available() else 0


def is_initialized() -> bool:
    """Whether an Ascend device is in use."""
    return is_available()


def _require() -> None:
    if not is_available():
        raise RuntimeError("mstorch: MindSpore computes on no Ascend device in this process")


def init() -> None:
    """Start using the device; raises if there is none."""
    _require()


def current_device() -> int:
    """The index of the device in use."""
    _require()
    return 0


def set_device(device: Any) -> None:
    """Choose the device in use: MindSpore has one in a process, any other raises."""
    _require()
    index = device if isinstance(device, int) else _device(device).index
    if index not in (None, current_device()):
        raise RuntimeError("mstorch: MindSpore computes on one device in a process")


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    _require()
    return runtime.device_name(0 if device is None else device if isinstance(device, int) else _device(device).index or 0)


def synchronize(device: Any = None) -> None:
    """Wait until the device has done what it was given."""
    _require()
    runtime.synchronize()


def empty_cache() -> None:
    """Give the device's unused memory back."""
    if is_available():
        runtime.empty_cache()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors take on the device."""
    return runtime.memory_allocated() if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took on the device."""
    return runtime.max_memory_allocated() if is_available() else 0


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


class device(_NoSwitch):
    """Compute on another device inside of a ``with`` block: MindSpore has one, so that nothing changes."""
