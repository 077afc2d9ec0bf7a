"""torch.cuda: what there is to say of GPUs. Without one, scripts that ask are told so, and seeds wait as in torch."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._backend import runtime
from .._core.device import device as _device
from .._core.generator import device_generator, seed_devices
from . import amp as amp


def is_available() -> bool:
    """Whether MindSpore computes on a GPU."""
    return runtime.device_type() == "cuda"


def device_count() -> int:
    """The GPUs that MindSpore sees."""
    return runtime.device_count() if is_available() else 0


def is_initialized() -> bool:
    """Whether a GPU is in use."""
    return is_available()


def _require() -> None:
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")


def init() -> None:
    """Start using the GPU; raises if there is none."""
    _require()


def current_device() -> int:
    """The index of the GPU in use."""
    _require()
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU computes in bfloat16."""
    return is_available()


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    _require()
    return runtime.device_name(_device(device).index or 0 if device is not None else 0)


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done what it was given."""
    _require()
    runtime.synchronize()


def empty_cache() -> None:
    """Give unused GPU memory back; nothing to give without a GPU."""
    if is_available():
        runtime.empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the GPU's generator; ignored without a GPU, as in torch."""
    seed_devices(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; ignored without a GPU, as in torch."""
    seed_devices(int(seed))


def seed() -> None:
    """Seed the GPU's generator from the operating system; ignored without a GPU, as in torch."""
    if is_available():
        device_generator().seed()


def seed_all() -> None:
    """Seed the generators of all GPUs alike from the operating system; ignored without a GPU, as in torch."""
    seed()


def initial_seed() -> int:
    """The seed of the GPU's generator."""
    _require()
    return device_generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the GPU's generator, a uint8 tensor of 16 bytes."""
    _require()
    return device_generator().get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' generators; without a GPU none."""
    return [get_rng_state()] if is_available() else []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Restore the state of the GPU's generator; ignored without a GPU, as in torch."""
    if is_available():
        device_generator().set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states that ``get_rng_state_all`` gave."""
    for state in new_states:
        set_rng_state(state)


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors take on the GPU; 0 without one."""
    return runtime.memory_allocated() if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took on the GPU; 0 without one."""
    return runtime.max_memory_allocated() if is_available() else 0
