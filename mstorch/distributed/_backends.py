"""The backends of a process group by device: what ``ProcessGroup._get_backend`` gives."""
from __future__ import annotations

from typing import Any

from mstorch import device as _device

from ._members import Members

_CLASSES = {"gloo": "ProcessGroupGloo", "hccl": "ProcessGroupHCCL", "nccl": "ProcessGroupNCCL", "mpi": "ProcessGroupMPI"}


class GroupBackend:
    """The backend of a group for a device. What it does is what the group does for tensors of that device."""

    def __init__(self, group: Members, name: str) -> None:
        self._group, self._name = group, name

    def name(self) -> str:
        """Return the name of the backend."""
        return self._name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._group, name)

    def __repr__(self) -> str:
        return f"<torch.distributed.{_CLASSES.get(self._name, self._name)} of {self._group.group_name}>"


class HcclBackend(GroupBackend):
    """HCCL's backend of a group."""

    def get_hccl_comm_name(self, rank: int, init_comm: bool = True) -> str:
        """Return the name of the communicator by which torch_npu's operators find the group: the group's own."""
        if not 0 <= rank < self._group.size():
            raise RuntimeError(f"rank {rank} is not in a group of {self._group.size()}")
        return self._group.group_name


class WithBackends:
    """The part of ProcessGroup that tells its backends."""

    _config: Any

    def _get_backend_name(self) -> str:
        name: str = self.name()  # type: ignore[attr-defined]
        return name

    def _get_backend(self, device: _device) -> GroupBackend:
        """Return the backend for a device. Raise RuntimeError where the group has none."""
        if not isinstance(device, _device):
            raise TypeError(
                "_get_backend(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: torch._C._distributed_c10d.ProcessGroup, device: torch.device) -> c10d::Backend"
            )
        name = self._config.get_device_backend_map().get(device.type)
        if name is None:
            raise RuntimeError(f"No backend type associated with device type {device.type}")
        kind = HcclBackend if name == "hccl" else GroupBackend
        return kind(self, str(name))  # type: ignore[arg-type]
