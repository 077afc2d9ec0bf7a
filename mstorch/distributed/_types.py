"""Classes of torch.distributed that programs name in annotations and tests."""
from __future__ import annotations

import enum
from typing import Any


class DistError(RuntimeError):
    """The base of the errors of process groups."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class ReduceOp(enum.IntEnum):
    """How values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"
    FAKE = "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return getattr(cls, name.upper(), name.lower())


class BackendConfig:
    """Raises NotImplementedError: no backend can be configured without process groups."""

    def __init__(self, backend: Any) -> None:
        raise NotImplementedError("mstorch: torch.distributed has no backends that could be configured")


class ProcessGroup:
    """A group of processes. None can be made here."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError("mstorch: torch.distributed has no process groups")


class Work:
    """A communication that goes on. There is none here."""

    def __init__(self) -> None:
        raise NotImplementedError("mstorch: torch.distributed has no communication that could go on")


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes: None."""
        return None


class group(metaclass=_WorldMeta):
    """Has the group of all processes as ``WORLD``."""


class GroupMember(metaclass=_WorldMeta):
    """Has the group of all processes as ``WORLD``, and a mark for processes outside a group."""

    NON_GROUP_MEMBER = -100


GroupName = str
