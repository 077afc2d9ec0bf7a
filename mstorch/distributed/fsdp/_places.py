"""The devices on which an FSDP module computes and keeps its shards."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mstorch as torch

from ..._src.core.warned import warn
from ...utils._pytree import tree_map_only
from .._group import ProcessGroup


def move_states(tensors: Iterable[Any], device: torch.device) -> None:
    """Move CPU parameters and buffers to a device, keeping the same objects."""
    for one in tensors:
        if one.device.type == "cpu" != device.type:
            with torch.no_grad():
                one.data = one.data.to(device)
                if one.grad is not None:
                    one.grad = one.grad.to(device)


def moved_inputs(value: Any, device: torch.device) -> Any:
    """Return arguments with their tensors moved to a device; for the CPU they are returned as they are."""
    return value if device.type == "cpu" else tree_map_only(torch.Tensor, lambda one: one.to(device), value)


def device_of_id(device_id: int | torch.device | None, rank: int) -> torch.device | None:
    """Return the device of ``device_id``, with an index; None if ``device_id`` is None."""
    device = device_id if device_id is None or isinstance(device_id, torch.device) else torch.device(device_id)
    if device is not None and device.type == "cpu":
        return device
    if torch.accelerator.current_accelerator() is None:
        raise RuntimeError("FSDP needs a non-CPU accelerator device, but no accelerator device is detected.")
    if device is None or device.index is not None:
        return device
    current = torch.device(device.type, torch.accelerator.current_device_index())
    warn(
        f"FSDP got the argument `device_id` {device_id} on rank {rank}, which does not have an explicit index. FSDP will use the current "
        f"device {current}. If this is incorrect, please explicitly call `torch.{device.type}.set_device()` before FSDP initialization or "
        "pass in the explicit device index as the `device_id` argument."
    )
    return current


def compute_device(parameters: Iterable[Any], named: torch.device | None, rank: int) -> torch.device:
    """Return the device on which a module computes: that of its parameters, or the current accelerator if they are on the CPU."""
    if named is not None and named.type == "cpu":
        return named
    first = next(iter(parameters), None)
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    found = torch.device(accelerator.type, torch.accelerator.current_device_index())
    if first is not None and first.device.type not in ("cpu", "meta"):
        found = first.device
    if named is not None and found != named:
        raise ValueError(f"Inconsistent compute device and `device_id` on rank {rank}: {found} vs {named}")
    return found


def sync_states(parameters: Iterable[Any], buffers: Iterable[Any], group: ProcessGroup) -> None:
    """Broadcast rank 0's parameters and buffers; raise ValueError if they are on the CPU."""
    states = [one.detach() for one in (*parameters, *buffers)]
    if any(one.device.type == "cpu" for one in states):
        raise ValueError(
            "The module has CPU parameters or buffers when `sync_module_states=True`, which requires them to be on GPU. Please specify "
            "the `device_id` argument or move the module to GPU before passing it to FSDP."
        )
    for work in [group.broadcast([one], root=0) for one in states]:
        work.wait()
