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


def _without_group() -> NoReturn:
    raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_rank(group: Any = None) -> int:
    """The number of this process in a group. ValueError without one."""
    _without_group()


def get_world_size(group: Any = None) -> int:
    """The number of processes in a group. ValueError without one."""
    _without_group()


def get_backend(group: Any = None) -> Backend:
    """The name of a group's backend. ValueError without one."""
    _without_group()


def get_process_group_ranks(group: Any) -> list[int]:
    """The numbers of a group's processes. ValueError without one."""
    _without_group()


def new_group(
    ranks: Any = None, timeout: Any = None, backend: Any = None, pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: Any = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A further group. ValueError without a first one."""
    _without_group()


def destroy_process_group(group: Any = None) -> None:
    """Ends a group. AssertionError without one."""
    raise AssertionError("Process group cannot be None")


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Any:
    """Waits for the group's other processes. ValueError without a group."""
    _without_group()


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Sums a tensor over a group. ValueError without one."""
    _without_group()


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Any:  # fmt: skip
    """Sums a tensor over a group, for one process. ValueError without a group."""
    _without_group()


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Any:
    """Sends a tensor to a group. ValueError without one."""
    _without_group()


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Collects the tensors of a group. ValueError without one."""
    _without_group()


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Collects the objects of a group. ValueError without one."""
    _without_group()


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Sends objects to a group. ValueError without one."""
    _without_group()


__all__ = [
    "Backend", "BackendConfig", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "GroupMember", "GroupName",
    "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_object", "all_reduce", "barrier", "broadcast",
    "broadcast_object_list", "destroy_process_group", "device_mesh", "get_backend", "get_node_local_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "group", "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "reduce",
]  # fmt: skip
