"""torch.distributed.distributed_c10d: the module in which torch defines the names of ``torch.distributed``."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

from .._src.core.cuda_names import is_on
from .._src.core.device import device
from .._src.hook import missing as _missing
from . import _collectives, _objects, _point_to_point, _settings, _start, _types, _world
from ._device_backend import hccl_is_there
from ._group import ProcessGroup
from ._settings import default_pg_timeout
from ._stores import PrefixStore, Store
from ._work import Work
from ._world import chosen, default_group, outside, world
from .rendezvous import register_rendezvous_handler, rendezvous


def is_available() -> bool:
    """Return True: process groups can be created."""
    return True


def is_gloo_available() -> bool:
    """Return True: CPU tensors can be communicated."""
    return True


def is_nccl_available() -> bool:
    """Return whether "cuda" is an alias of "npu"; "nccl" then means HCCL."""
    return is_on()


def is_mpi_available() -> bool:
    """Return False: mstorch has no MPI backend."""
    return False


def is_hccl_available() -> bool:
    """Return whether this process computes on an Ascend device, whose tensors can be communicated."""
    return hccl_is_there()


def is_ucc_available() -> bool:
    """Return False: mstorch has no UCC backend."""
    return False


def is_xccl_available() -> bool:
    """Return False: mstorch has no XCCL backend."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return whether a backend is available: "gloo", "hccl", or "nccl" where it means hccl. In a list such as "cpu:gloo,npu:hccl", all must
    be."""
    there = ("gloo", "hccl") if hccl_is_there() else ("gloo",)
    return all(_types.Backend(pair.rpartition(":")[2]) in there for pair in backend.lower().split(","))


_get_default_group = default_group
_group_or_default_group = chosen
_rank_not_in_group = outside
_get_global_rank = _world.get_global_rank


def _get_default_store() -> Store:
    return default_group().get_group_store()


def _get_process_group_store(pg: ProcessGroup) -> Store:
    return pg.get_group_store()


def _get_process_group_name(pg: ProcessGroup) -> str:
    return str(pg.group_name)


def _get_group_size(group: ProcessGroup | None) -> int:
    return _world.get_world_size(group)


def _get_pg_default_device(group: ProcessGroup | None = None) -> device:
    return device("cpu")


def _resolve_process_group(group_name: str) -> ProcessGroup:
    if group_name not in world.groups:
        raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")
    return world.groups[group_name]


def _set_pg_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    (default_group() if group is None else group).set_timeout(timeout)


_PUBLIC: dict[str, Any] = {}
for _module in (_collectives, _objects, _point_to_point, _start):
    _PUBLIC |= {name: getattr(_module, name) for name in _module.__all__ if name not in ("Work", "Store")}
_PUBLIC |= {
    name: getattr(_world, name)
    for name in ("GroupMember", "get_backend", "get_backend_config", "get_backend_impl", "get_global_rank", "get_group_rank",
                 "get_pg_count",
                 "get_process_group_ranks", "get_rank", "get_world_size", "group", "is_initialized", "set_timeout")
}  # fmt: skip
_PUBLIC |= {
    name: getattr(_types, name)
    for name in ("Backend", "BackendConfig", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "GroupName", "ReduceOp")
}
_PUBLIC |= {
    name: getattr(_settings, name)
    for name in ("AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions", "BroadcastOptions",
                 "DebugLevel", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions", "get_debug_level",
                 "get_default_backend_for_device", "reduce_op", "supports_complex")
}  # fmt: skip
globals().update(_PUBLIC)

__all__ = [
    "PrefixStore", "ProcessGroup", "Store", "Work", "default_pg_timeout", "is_available", "is_backend_available", "is_gloo_available",
    "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available", "register_rendezvous_handler", "rendezvous", *_PUBLIC,
]  # fmt: skip

__getattr__ = _missing(__name__)
