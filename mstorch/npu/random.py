"""torch.npu.random: seeds and states of the device's random generator."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._src.core.device import device
from .._src.core.generator import device_generator, seed_devices
from .state import is_available, require


def manual_seed(seed: int) -> None:
    """Seed the device's random generator; no-op without a device."""
    seed_devices(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; no-op without a device."""
    seed_devices(int(seed))


def initial_seed() -> int:
    """Return the seed of the device's generator."""
    require()
    return device_generator().initial_seed()


def get_rng_state(device: int | str | device = "npu") -> Any:
    """Return the state of the device's generator, a uint8 tensor of 16 bytes."""
    require()
    return device_generator().get_state()


def set_rng_state(new_state: Any, device: int | str | device = "npu") -> None:
    """Restore the state of the device's generator."""
    require()
    device_generator().set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """Return the states of all devices' generators; an empty list without a device."""
    return [get_rng_state()] if is_available() else []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Restore the states that ``get_rng_state_all`` returned."""
    for state in new_states:
        set_rng_state(state)


def seed() -> None:
    """Seed the device's generator from the operating system; no-op without a device."""
    if is_available():
        device_generator().seed()


def seed_all() -> None:
    """Seed the generators of all devices from the operating system; no-op without a device."""
    seed()


__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip
