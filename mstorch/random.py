"""torch.random: seed and state of the default generator."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from typing import Any

from ._src.backend.seeds import seed_mindspore
from ._src.backend.tape import tracing
from ._src.backend.trace import GraphBreak
from ._src.core import device as _devices
from ._src.core.generator import Generator, default_generator, device_generator, seed_devices
from ._src.leaving import Block, each, values_again
from ._tensor import Tensor

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip


def manual_seed(seed: int) -> Generator:
    """Seed the random numbers of the host, the accelerator and MindSpore; return the default generator."""
    default_generator.manual_seed(int(seed))
    seed_devices(int(seed))
    seed_mindspore(int(seed))
    return default_generator


def seed() -> int:
    """Seed the random numbers from the operating system; return the seed."""
    drawn = default_generator.seed()
    seed_devices(drawn)
    seed_mindspore(drawn)
    return drawn


def initial_seed() -> int:
    """Return the seed of the default generator."""
    if tracing() is not None:
        raise GraphBreak("the generator's seed is read")
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the default generator."""
    default_generator.set_state(new_state)


class _Fork(Block, contextlib.ContextDecorator):
    def __init__(self, devices: Iterable[Any] | None, enabled: bool) -> None:
        self._devices, self._enabled = devices, enabled

    def __enter__(self) -> None:
        if not self._enabled:
            self.at_end(each())
            return
        ends = [values_again(default_generator, "_engine")]
        if _devices.current().type != "cpu" and (self._devices is None or list(self._devices)):
            generator = device_generator()
            ends.append(functools.partial(generator.set_state, generator.get_state()))
        default_generator.engine  # noqa: B018 - follows a seed that MindSpore was given
        copy = default_generator.clone_state()._engine
        self.at_end(each(*ends))
        default_generator._engine = copy  # the block draws from a copy


def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Any:  # fmt: skip
    """Context manager that restores the state of the default generator, and of the accelerator's unless ``devices`` is empty."""
    return _Fork(devices, enabled)


def thread_safe_generator() -> Generator | None:
    """Return None: in mstorch, DataLoader workers are processes, not threads."""
    return None
