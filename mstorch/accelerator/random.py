"""torch.accelerator.random: the generators of the accelerator's devices (torch 2.14)."""
from __future__ import annotations

from .. import accelerator
from .._src.core.device import device as _device
from .._tensor import Tensor
from ..npu import random as npu_random

_place = int | str | _device | None


def _check(device: _place) -> None:
    """Raise RuntimeError unless the device is the one that the process is bound to, ValueError for one of another type."""
    here = accelerator.current_device_index()
    if isinstance(device, (str, _device)):
        chosen = _device(device)
        own = accelerator.current_accelerator()
        if own is not None and chosen.type != own.type:
            raise ValueError(f"{chosen.type} doesn't match the current accelerator {own}.")
        device = chosen.index
    if device is not None and device != here:
        raise RuntimeError(f"mstorch: a process has the generator of one device, here {here}; that of {device} was asked for")


def initial_seed(device: _place = None, /) -> int:
    """Return the seed of a device's generator; raise RuntimeError if there is no accelerator."""
    accelerator._require()
    _check(device)
    return npu_random.initial_seed()


def get_rng_state(device: _place = None, /) -> Tensor:
    """Return the state of a device's generator; raise RuntimeError if there is no accelerator."""
    accelerator._require()
    _check(device)
    return npu_random.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the generators of all devices."""
    return [get_rng_state(index) for index in range(accelerator.device_count())]


__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed"]
