"""The border to MindSpore's own communication, for tensors on Ascend (HCCL) and GPU (NCCL)."""
from __future__ import annotations

from typing import Any, NoReturn

from .._hook import not_yet
from ._types import Backend, BackendConfig

NAMES = {"nccl": "NCCL", "hccl": "HCCL", "xccl": "XCCL", "ucc": "UCC"}


class DeviceBackend:
    """What carries tensors of a device. NotImplementedError: MindSpore's collectives are not joined to process groups."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self, what: str, device: Any) -> NoReturn:
        """Raises NotImplementedError that names the operation and the device."""
        raise NotImplementedError(
            f"mstorch: torch.distributed.{what} of tensors on {device} by {NAMES.get(self.name, self.name)}: mindspore.communication "
            f"is not joined to process groups {not_yet()}; tensors on the CPU are carried"
        )


def available(name: Any) -> Any:
    """The backend of a name. RuntimeError where torch would have to be built with it, NotImplementedError where it is missing here."""
    backend = Backend(name)
    for one in dict.fromkeys(BackendConfig(backend).get_device_backend_map().values()):
        if one == Backend.MPI:
            raise RuntimeError(
                "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a host "
                "that has MPI installed."
            )
        if one in NAMES and backend == one:
            raise RuntimeError(
                f"Distributed package doesn't have {NAMES[one]} built in: mstorch carries tensors of the CPU, by gloo, and "
                f"mindspore.communication is not joined to process groups {not_yet()}"
            )
        if one not in (*NAMES, Backend.GLOO):
            raise NotImplementedError(f"mstorch: torch.distributed has no backend {one!r} {not_yet()}")
    return backend
