"""torch.cuda.random: seeds and states of the GPU's random generator."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._src.core.cuda_names import is_there
from .._src.core.device import device as _device
from .._src.core.generator import device_generator, seed_devices
from .._src.devices.no_cuda import require
from .._tensor import Tensor

__all__ = [
    "get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all", "manual_seed", "manual_seed_all", "seed",
    "seed_all", "initial_seed",
]  # fmt: skip


def manual_seed(seed: int) -> None:
    """Seed the GPU's random generator; no-op without a GPU, as in torch."""
    seed_devices(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; no-op without a GPU, as in torch."""
    seed_devices(int(seed))


def seed() -> None:
    """Seed the GPU's generator from the operating system; no-op without a GPU, as in torch."""
    if is_there():
        device_generator().seed()


def seed_all() -> None:
    """Seed the generators of all GPUs equally from the operating system; no-op without a GPU, as in torch."""
    seed()


def initial_seed() -> int:
    """Return the seed of the GPU's generator."""
    require()
    return device_generator().initial_seed()


def get_rng_state(device: int | str | _device = "cuda") -> Tensor:
    """Return the state of the GPU's generator, a uint8 tensor of 16 bytes."""
    require()
    return device_generator().get_state()


def get_rng_state_all() -> list[Any]:
    """Return the states of all GPUs' generators; an empty list without a GPU."""
    return [get_rng_state()] if is_there() else []


def set_rng_state(new_state: Tensor, device: int | str | _device = "cuda") -> None:
    """Restore the state of the GPU's generator; no-op without a GPU, as in torch."""
    if is_there():
        device_generator().set_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states that ``get_rng_state_all`` returned."""
    for state in new_states:
        set_rng_state(state)
