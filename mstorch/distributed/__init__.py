"""torch.distributed of a single process: there is no process group, and what needs one raises torch's error.

``is_available()`` is False, as in a torch that was built without it; the names that stand here all the same are those that
programs use before they look.
"""
from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, NoReturn

from .._hook import not_yet
from . import device_mesh
from ._collectives import (
    FUNCTIONS,
    P2POp,
    batch_isend_irecv,
    get_global_rank,
    get_group_rank,
    get_pg_count,
    new_subgroups,
    split_group,
)
from ._settings import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    BuiltinCommHookType,
    DebugLevel,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    default_pg_timeout,
    get_debug_level,
    get_default_backend_for_device,
    reduce_op,
    register_rendezvous_handler,
    rendezvous,
    set_debug_level,
    set_debug_level_from_env,
    supports_complex,
)
from ._stores import HashStore, PrefixStore, QueueEmptyError, Store
from ._types import (
    Backend,
    BackendConfig,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    GroupMember,
    GroupName,
    ProcessGroup,
    ReduceOp,
    Work,
    group,
)
from .device_mesh import DeviceMesh, init_device_mesh


def is_available() -> bool:
    """False: there are no process groups here."""
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False


def is_nccl_available() -> bool:
    """False: there is no such backend here."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """False: there is no backend here."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, from ``LOCAL_RANK``; ``fallback_rank`` without one, RuntimeError without both."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming "
        "you are not running in a multi-device context and want the code to run locally instead."
    )


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
    _ranks: list[int] | None = None,
) -> NoReturn:  # fmt: skip
    """Raises NotImplementedError: there are no process groups here."""
    raise NotImplementedError(f"mstorch: torch.distributed has no process groups {not_yet()}")


def destroy_process_group(group: Any = None) -> None:
    """Ends a group. AssertionError without one."""
    raise AssertionError("Process group cannot be None")


globals().update(FUNCTIONS)

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BackendConfig", "BarrierOptions",
    "BroadcastOptions", "BuiltinCommHookType", "DebugLevel", "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError",
    "DistStoreError", "GatherOptions", "GroupMember", "GroupName", "HashStore", "P2POp", "PrefixStore", "ProcessGroup",
    "QueueEmptyError", "ReduceOp", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions", "Store", "Work", "batch_isend_irecv",
    "default_pg_timeout", "destroy_process_group", "device_mesh", "get_debug_level", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "group", "init_device_mesh",
    "init_process_group", "is_available", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "new_subgroups", "reduce_op",
    "register_rendezvous_handler", "rendezvous", "set_debug_level", "set_debug_level_from_env", "split_group", "supports_complex",
    *FUNCTIONS,
]  # fmt: skip
