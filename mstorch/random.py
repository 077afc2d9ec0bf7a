"""torch.random: the default generator's seed and state."""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ._core.generator import Generator, default_generator

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip


def manual_seed(seed: int) -> Generator:
    """Start the random numbers of a seed; returns the default generator."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start random numbers of a seed drawn from the operating system; returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Continue the default generator from a saved state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:  # fmt: skip
    """Give the default generator its state back at the end of the block."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
