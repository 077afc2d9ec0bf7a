"""Collectives on Python objects, which are pickled. With ``weights_only`` (torch 2.14) nothing but what ``torch.load`` allows is read."""
from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mstorch as torch

from .._src.serialization.loaded import TypedRef
from ..storage import TypedStorage
from ._collectives import all_gather, broadcast, gather, member_of, scatter
from ._group import ProcessGroup, by_the_host
from ._point_to_point import recv, send
from ._world import chosen, get_rank, get_world_size, outside, warn_outside

_DEVICES = 64  # more devices than a machine has
_HOST = torch.device("cpu")  # bytes are created on the CPU, whatever the default device is


def _packed(value: int | Sequence[Any] | dict[str, Any], weights_only: bool) -> Any:
    """Return a pickled object as a uint8 tensor; with ``weights_only`` a file of ``torch.save``."""
    file = io.BytesIO()
    if weights_only:
        torch.save(value, file)
    else:
        pickle.dump(value, file)
    return torch.from_numpy(np.frombuffer(bytearray(file.getvalue()), np.uint8))


def _loaded_here(data: bytes) -> TypedRef | TypedStorage:
    """Unpickle a storage of another rank, moving one from its accelerator to this process's."""
    here = torch.accelerator.current_accelerator()
    index = torch.accelerator.current_device_index() if here is not None else 0
    places = {} if here is None else {f"{here.type}:{other}": f"{here.type}:{index}" for other in range(_DEVICES)}
    return torch.load(io.BytesIO(data), map_location=places, weights_only=False)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., Any] | type[Any]:
        return _loaded_here if name == "_load_from_bytes" else super().find_class(module, name)


def _unpacked(tensor: torch.Tensor, size: int, weights_only: bool) -> Any:
    file = io.BytesIO(tensor.numpy()[:size].tobytes())
    return torch.load(file, weights_only=True) if weights_only else _Unpickler(file).load()


def _room_for(sizes: list[int]) -> list[Any]:
    """Return a uint8 tensor per object, each as long as the longest."""
    return list(torch.empty(len(sizes), max(sizes), dtype=torch.uint8, device=_HOST).unbind(0))


def _padded(tensor: torch.Tensor, size: int) -> torch.Tensor:
    made = torch.zeros(size, dtype=torch.uint8, device=_HOST)
    made[: tensor.numel()] = tensor
    return made


def _sizes_of_all(tensor: torch.Tensor, group: ProcessGroup | None) -> list[int]:
    sizes = list(torch.zeros(get_world_size(group), 1, dtype=torch.int64, device=_HOST).unbind(0))
    all_gather(sizes, torch.tensor([tensor.numel()], device=_HOST), group=group)
    return [int(size) for size in sizes]


@by_the_host
def all_gather_object(object_list: Any, obj: Any, group: ProcessGroup | None = None, weights_only: bool = False) -> None:
    """Fill ``object_list`` with each rank's object. Raise ValueError if there is no process group."""
    if outside(group):
        return warn_outside("all_gather_object")
    chosen(group)
    mine = _packed(obj, weights_only)
    sizes = _sizes_of_all(mine, group)
    parts = _room_for(sizes)
    all_gather(parts, _padded(mine, max(sizes)), group=group)
    for number, (part, size) in enumerate(zip(parts, sizes)):
        object_list[number] = _unpacked(part, size, weights_only)


@by_the_host
def gather_object(
    obj: Any, object_gather_list: Any = None, dst: int | None = None, group: ProcessGroup | None = None, group_dst: int | None = None,
    weights_only: bool = False
) -> None:
    """Fill the list of rank ``dst`` (0) with each rank's object. Raise ValueError if there is no process group, or if another rank passes a
    list.
    """
    found = chosen(group)
    root = member_of(found, 0 if dst is None and group_dst is None else dst, group_dst)
    if outside(found):
        return warn_outside("gather_object")
    here = found.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    mine = _packed(obj, weights_only)
    sizes = _sizes_of_all(mine, found)
    parts = _room_for(sizes) if here else None
    gather(_padded(mine, max(sizes)), parts, group=found, group_dst=root)
    for number, part in enumerate(parts or ()):
        object_gather_list[number] = _unpacked(part, sizes[number], weights_only)


@by_the_host
def broadcast_object_list(
    object_list: Sequence[Any], src: int | None = None, group: ProcessGroup | None = None, device: torch.device | None = None,
    group_src: int | None = None, weights_only: bool = False
) -> None:
    """Fill the list with the objects of rank ``src`` (0). Raise ValueError if there is no process group."""
    found = chosen(group)
    root = member_of(found, 0 if src is None and group_src is None else src, group_src)
    if outside(found):
        return warn_outside("broadcast_object_list")
    here = found.rank() == root
    packed = [_packed(value, weights_only) for value in object_list] if here else []
    lengths = [one.numel() for one in packed] if here else [0] * len(object_list)
    sizes = torch.tensor(lengths, dtype=torch.int64, device=_HOST)
    broadcast(sizes, group=found, group_src=root)
    together = torch.cat(packed) if here and packed else torch.empty(int(sizes.sum()), dtype=torch.uint8, device=_HOST)
    broadcast(together, group=found, group_src=root)
    if not here:
        _fill(object_list, together, sizes, weights_only)


def _fill(object_list: Any, together: torch.Tensor, sizes: torch.Tensor, weights_only: bool) -> None:
    start = 0
    for number, size in enumerate(sizes.tolist()):
        object_list[number] = _unpacked(together[start : start + size], size, weights_only)
        start += size


@by_the_host
def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: Any = None, src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None, weights_only: bool = False,
) -> None:  # fmt: skip
    """Set the list's first entry to this rank's entry of rank ``src``'s (0) list. Raise ValueError if there is no process group."""
    found = chosen(group)
    root = member_of(found, 0 if src is None and group_src is None else src, group_src)
    if outside(found):
        return warn_outside("scatter_object_list")
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    here = found.rank() == root
    if here and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    packed = [_packed(value, weights_only) for value in scatter_object_input_list] if here else []
    longest = torch.tensor([max((one.numel() for one in packed), default=0)], device=_HOST)
    broadcast(longest, group=found, group_src=root)
    part, size = torch.empty(int(longest), dtype=torch.uint8, device=_HOST), torch.zeros(1, dtype=torch.int64, device=_HOST)
    scatter(part, [_padded(one, int(longest)) for one in packed] if here else None, group=found, group_src=root)
    scatter(size, [torch.tensor([one.numel()], device=_HOST) for one in packed] if here else None, group=found, group_src=root)
    scatter_object_output_list[0] = _unpacked(part, int(size), weights_only)


@by_the_host
def send_object_list(
    object_list: list[Any], dst: int | None = None, group: ProcessGroup | None = None,
    device: torch.device | None = None, group_dst: int | None = None, use_batch: bool = False, weights_only: bool = False
) -> None:
    """Send objects to rank ``dst``. Raise ValueError if there is no process group, or if ``dst`` is this rank."""
    found = chosen(group)
    member = member_of(found, dst, group_dst)
    if outside(found):
        return warn_outside("send_object_list")
    packed = [_packed(value, weights_only) for value in object_list]
    send(torch.tensor([one.numel() for one in packed], device=_HOST), group=found, group_dst=member)
    send(torch.cat(packed), group=found, group_dst=member)


@by_the_host
def recv_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
    device: torch.device | None = None, group_src: int | None = None, use_batch: bool = False, weights_only: bool = False
) -> int:
    """Fill the list with objects from rank ``src``, or from any; return the sender's rank, -1 outside the group."""
    found = chosen(group)
    if outside(found):
        warn_outside("recv_object_list")
        return -1
    sizes = torch.empty(len(object_list), dtype=torch.int64, device=_HOST)
    source = recv(sizes, src, found, group_src=group_src)
    if src is None and group_src is None:
        src = source
    together = torch.empty(int(sizes.sum()), dtype=torch.uint8, device=_HOST)
    recv(together, src, found, group_src=group_src)
    if src is not None and src == get_rank():
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
    _fill(object_list, together, sizes, weights_only)
    return source


__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list", "send_object_list",
]  # fmt: skip
