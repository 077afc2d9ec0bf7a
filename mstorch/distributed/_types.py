"""Classes of torch.distributed that need no group: errors, reduction operators, backend names."""
from __future__ import annotations

import enum
from typing import Any

from .._src.core import cuda_names
from .._src.core.device import current


class DistError(RuntimeError):
    """The base class of process group errors."""


class DistBackendError(DistError):
    """Raised when a backend fails."""


class DistNetworkError(DistError):
    """Raised when a connection fails."""


class DistStoreError(DistError):
    """Raised when a store fails."""


class ReduceOp(enum.IntEnum):
    """Reduction operators: SUM, AVG, PRODUCT, MIN, MAX, …"""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


def _with_hccl(name: str) -> str:
    """Return a backend name, or pairs ("cpu:gloo,cuda:nccl"), with npu for cuda and hccl for nccl."""
    words = [[cuda_names.meant(word) if word != "nccl" else "hccl" for word in pair.split(":")] for pair in name.split(",")]
    return ",".join(map(":".join, words))


class Backend(str):
    """A backend name in lower case; "nccl" becomes "hccl" where cuda means npu."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    XCCL = "xccl"
    UCC = "ucc"
    MPI = "mpi"
    FAKE = "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    backend_capability = {
        GLOO: ["cpu", "cuda"], NCCL: ["cuda"], XCCL: ["xpu"], UCC: ["cpu", "cuda"], MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda", "hpu", "xpu"],
    }  # fmt: skip
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        if cuda_names.is_on():
            name = _with_hccl(name.lower())
        return getattr(cls, name.upper(), name.lower())


if current().type == "npu":  # torch_npu registers it in torch
    Backend.HCCL = "hccl"  # type: ignore[attr-defined]
    Backend.backend_list.append("hccl")
    Backend.backend_capability["hccl"] = ["npu"]
    Backend.default_device_backend_map["npu"] = "hccl"


_INVALID = """The custom backend string argument is invalid: {}.
                Custom backend string is an experimental feature where the backend string must be in the format:
                "<device_type1>:<backend1>,<device_type2>:<backend2>...". e.g. 'cpu:gloo,cuda:nccl'"""


class BackendConfig:
    """The backend of each device type, from a name or from pairs ("cpu:gloo,cuda:nccl"). Raises ValueError if it cannot be parsed."""

    def __init__(self, backend: str | Backend) -> None:
        name = str(Backend(str(backend)))
        self.device_backend_map: dict[str, Any] = {}
        if name == Backend.UNDEFINED:
            self.device_backend_map = {"cpu": Backend.GLOO}
            if current().type == "npu":
                self.device_backend_map["npu"] = Backend("hccl")
        elif name in Backend.backend_list:
            self.device_backend_map = dict.fromkeys(Backend.backend_capability[name], Backend(name))
        elif ":" in name:
            for pair in name.split(","):
                device, *served = pair.split(":")
                if len(served) != 1:
                    text = _INVALID.format(backend)
                    raise ValueError(f"Invalid device:backend pairing:                                      {pair}. {text}")
                if device in self.device_backend_map:
                    raise ValueError(
                        f"Duplicate device type {device}                                      in backend string: {backend}. "
                        + _INVALID.format(backend)
                    )
                self.device_backend_map[device] = Backend(served[0])
        else:
            raise NotImplementedError(f"mstorch: torch.distributed has no backend {str(backend)!r}")

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, Any]:
        """Return a dict from device type to backend."""
        return self.device_backend_map


GroupName = str
