"""Creating and destroying process groups."""
from __future__ import annotations

import hashlib
import io
import os
import pdb
import sys
import traceback
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .._src.backend import binding
from .._src.core.device import current, device, resolve
from .._src.ops.memory.from_data import tensor
from ._compared import group_class
from ._device_backend import available, carries_devices, have_met, join_devices, join_later, leave_devices, meet_devices
from ._group import ProcessGroup
from ._mesh import Mesh
from ._settings import default_pg_timeout
from ._stores import PrefixStore, Store
from ._types import Backend, BackendConfig
from ._world import _OutsideGroup, default_group, get_rank, outside, world
from .rendezvous import rendezvous

_NO_CUDA = (
    "Default group size only takes effect when CUDA is available."
    "If your subgroup using a backend that does not depend on CUDA,please pass in 'group_size' correctly."
)


def _timeout(timeout: Any) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: int | device | None = None,
    _ranks: list[int] | None = None,
) -> None:  # fmt: skip
    """Create the default process group, connecting to the other ranks through a store or a URL ("env://" by default).

    Raise ValueError if there is one already, if the URL or the environment lacks a setting, or for a ``device_id`` of another device type.
    """
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    if isinstance(device_id, int) and not isinstance(device_id, bool) and current().type != "cpu":
        device_id = device(current().type, device_id)
    if device_id is not None and getattr(device_id, "type", "") not in ("cpu", current().type):
        raise ValueError(
            "device_id is an int, but no accelerator support is found from the current compilation. Please use a different "
            "compiled version that supports your accelerator." if isinstance(device_id, int) else
            f"device_id {device_id} does not match the current compilation's accelerator support: None. Please use a different "
            "compiled version that supports your accelerator."
        )  # fmt: skip
    chosen = Backend("undefined" if backend is None else backend)
    limit = _timeout(timeout)
    name = _name()  # reserved even if the start fails, as in torch
    if chosen == Backend.MPI:
        available(chosen)
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=limit))
        store.set_timeout(limit)
    available(chosen)
    if rank >= world_size:
        raise RuntimeError(f"[enforce fail] rank < size. {rank} vs {world_size}")
    world.generation += 1
    mesh = Mesh(PrefixStore(f"default_pg/{world.generation}", store), rank, world_size, limit)
    group_store = PrefixStore("default_pg", store)
    world.default = group_class()._made(mesh, group_store, range(world_size), rank, chosen, name, limit, "default_pg")
    world.default.bound_device_id = device_id
    world.groups[world.default.group_name] = world.default
    if device_id is not None:
        resolve(device_id)  # binds the process to it
    if chosen == Backend.UNDEFINED and device_id is None:
        join_later(world.default, range(world_size), world.default)
    else:
        if carries_devices(world.default._config):
            meet_devices(world.default)
        join_devices(world.default, range(world_size))
    _mark_errors(rank)


class ProcessGroupGloo(ProcessGroup):
    """A group that ranks join through a store, independent of that of ``init_process_group``."""

    def __new__(cls, store: Store, rank: int, size: int, timeout: timedelta = default_pg_timeout) -> Any:
        """Join as rank ``rank`` of ``size``; wait for the others."""
        return cls._made(Mesh(store, rank, size, timeout), store, range(size), rank, Backend("gloo"), "", timeout, "default_pg")

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta = default_pg_timeout) -> None:
        pass


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: Any = 3600) -> None:
    """Stop rank ``rank`` in Python's debugger, from the call ``skip`` + 1 on, while the others wait up to ``timeout_s`` seconds."""
    place = "".join(traceback.format_stack(limit=2)[:1])
    _stops[place] = _stops.get(place, 0) + 1
    if _stops[place] <= skip:
        return
    if timeout_s is not None:
        for group in world.groups.values():
            group.set_timeout(timedelta(seconds=timeout_s))
    if get_rank() == rank:
        pdb.Pdb().set_trace(sys._getframe(1))
    default_group().barrier().wait()


_stops: dict[str, int] = {}


def _name() -> str:
    name = str(world.count)
    world.count += 1
    return name


def _mark_errors(rank: int) -> None:
    """Prefix the lines of an uncaught exception with the rank."""
    before = world.excepthook = sys.excepthook

    def report(*args: Any) -> None:
        stream, sys.stderr = sys.stderr, io.StringIO()
        try:
            before(*args)
        finally:
            text, sys.stderr = sys.stderr.getvalue(), stream
        sys.stderr.write("\n".join(f"[rank{rank}]: {line}" if line else "" for line in text.split("\n")))
        sys.stderr.flush()

    sys.excepthook = report


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Destroy a group, or all of them (the default). Raise AssertionError if there is none."""
    if outside(group):
        return
    ended = world.default if group is None else group
    if ended is None:
        raise AssertionError("Process group cannot be None")
    if ended is world.default:
        leave_devices(ended)
        for one in reversed(list(world.groups.values())):
            one.shutdown()
        world.groups.clear()
        world.default, world.count = None, 0
        sys.excepthook = world.excepthook
    else:
        if ended.group_name not in world.groups:
            raise ValueError("Invalid process group specified")
        leave_devices(ended)
        ended.shutdown()
        del world.groups[ended.group_name]


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: device | None = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """Return a group of some ranks, or a marker on ranks outside it. All ranks have to call it; with ``use_local_synchronization``, only
    the members.

    Raise ValueError for ranks that are repeated or do not exist.
    """
    everyone = default_group()
    size = everyone.size()
    chosen = Backend(backend) if backend else everyone._backend
    limit = _timeout(timeout)
    members = list(range(size)) if ranks is None else list(ranks)
    if use_local_synchronization and everyone.rank() not in members:
        return None
    if sort_ranks:
        members = sorted(members)
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    if len(members) > size:
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    for rank in members:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    name = _name()
    if use_local_synchronization:
        world.count -= 1
        name = _hashed(members)
    waits = chosen == Backend.UNDEFINED and not _devices_count(everyone, use_local_synchronization)
    if carries_devices(BackendConfig(chosen)) and not use_local_synchronization and not waits:
        meet_devices(everyone)
    if everyone.rank() not in members:
        return _OutsideGroup(members)
    available(chosen)
    store = PrefixStore(f"{name}/", everyone.get_group_store())
    made = group_class()._made(
        everyone._mesh, store, members, members.index(everyone.rank()), chosen, name, limit, group_desc or "undefined"
    )
    made.bound_device_id = everyone.bound_device_id
    world.groups[name] = made
    if waits:
        join_later(made, members, everyone)
    else:
        join_devices(made, members)
    return made


def _devices_count(everyone: ProcessGroup, alone: bool) -> bool:
    """Return True if the devices of all ranks are connected, or if a rank already uses its device. All ranks are queried unless ``alone``.
    """
    if have_met() or alone or current().type == "cpu" or everyone.size() == 1:
        return have_met()
    used = tensor(int(binding.is_used()), device="cpu")
    everyone.allreduce([used]).wait()
    return bool(used)


def _hashed(ranks: list[int]) -> str:
    """Return a group's name, which its members compute without communication: a hash of ``ranks``, and the number of existing groups of
    these ranks."""
    word = hashlib.sha1("_".join(map(str, ranks)).encode(), usedforsecurity=False).hexdigest()
    same = sum(name.startswith(word) for name in world.groups)
    return f"{word}_{same}"


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Split a group into subgroups of ``group_size`` consecutive ranks; return this rank's and all. Raise ValueError if the size does not
    divide the group's.
    """
    if group_size is None:
        raise ValueError(_NO_CUDA)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    members = (default_group() if group is None else group)._ranks
    if len(members) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(members)})")
    if len(members) % group_size:
        raise ValueError(f"The world size ({len(members)}) must be divisible by 'group_size={group_size}'")
    parts = [members[start : start + group_size] for start in range(0, len(members), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[list[int]] | None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
    group_desc: str | None = None
) -> tuple[Any, list[Any]]:
    """Create a group for each list of ranks. Return this rank's group (or None) and the list of all groups. Raise ValueError if a rank is
    in two lists."""
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    default_group()
    seen: dict[int, Any] = {}
    mine, made = None, []
    for ranks in ranks_per_subgroup_list:
        group = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(group)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
        if get_rank() in ranks:
            mine = group
    return mine, made


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: list[Any] | None = None, timeout: timedelta | None = None, pg_options: Any = None,
    group_desc: str | None = None, backend: str | Backend | None = None,
) -> ProcessGroup | None:  # fmt: skip
    """Raise ValueError without a process group, else RuntimeError: only groups bound to a device can be split."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    default_group()
    raise RuntimeError("No device associated with the default pg, not safe to split any process groups")


def shrink_group(
    ranks_to_exclude: list[int], group: ProcessGroup | None = None, shrink_flags: int = 0, pg_options: Any = None
) -> ProcessGroup:
    """Raise ValueError without a process group, else RuntimeError: gloo cannot shrink groups."""
    found = default_group() if group is None else group
    raise RuntimeError(f"Process group backend '{found.name()}' does not support shrinking operation")


def is_torchelastic_launched() -> bool:
    """Return whether ``torchrun``, or mstorch's launcher, started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's rank on its machine, from ``LOCAL_RANK``, else ``fallback_rank``. Raise RuntimeError if both are missing."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming "
        "you are not running in a multi-device context and want the code to run locally instead."
    )


__all__ = [
    "ProcessGroupGloo", "Store", "breakpoint", "destroy_process_group", "get_node_local_rank", "init_process_group",
    "is_torchelastic_launched", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "shrink_group", "split_group",
]  # fmt: skip
