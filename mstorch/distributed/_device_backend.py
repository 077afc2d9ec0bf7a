"""Transfer of device tensors between ranks by HCCL through MindSpore; the stand-in device has none, and gloo carries its tensors."""
from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._src.backend import binding, runtime
from .._src.backend.raw import from_numpy, host_array
from .._src.core.device import current
from .._src.core.tensor_base import put_raw, value_of
from .._src.hook import not_yet
from .._tensor import Tensor
from . import _host_backend as host
from ._members import Members
from ._types import Backend, BackendConfig, DistBackendError, DistStoreError, ReduceOp

NAMES = {"nccl": "NCCL", "hccl": "HCCL", "xccl": "XCCL", "ucc": "UCC"}
BY_HOST = bool(runtime.FAKE_DEVICE)
"""True if gloo's functions carry tensors of the stand-in device, whose memory is the host's: there is no HCCL."""

if current().type == "npu":
    from .._src.backend import collectives
    from ._device_carrier import Alone, Carrier, DeviceFlat

    communication = collectives.Communication()

# Dtypes that HCCL transfers, and that it reduces (torch_npu's lists); bool is transferred as uint8. Complex numbers are not supported.
_CARRIED = frozenset(("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"))
_COMBINED = _CARRIED - {"float64", "uint8", "bool"}
_NOT_MULTIPLIED = frozenset(("bfloat16", "int16"))  # CANN's page of HcclAllReduce, Atlas A2
_COMBINING = frozenset(("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_single"))


def hccl_is_there() -> bool:
    """Return whether this process computes on an Ascend device."""
    return current().type == "npu"


def check_carried(what: str, tensor: Tensor) -> None:
    """Raise RuntimeError if HCCL cannot transfer, or cannot reduce, the tensor's dtype."""
    if tensor._ms_dtype.name not in (_COMBINED if what in _COMBINING else _CARRIED):
        raise RuntimeError(
            f"HCCL: Unsupported data type torch.{tensor._ms_dtype.name} in torch.distributed.{what}; bring it to another, or to the CPU"
        )


def check_product(op: ReduceOp, tensor: Tensor) -> None:
    """Raise RuntimeError for a product of device tensors of a dtype that HCCL refuses late, while the other ranks wait."""
    if op is ReduceOp.PRODUCT and tensor.device.type == "npu" and tensor._ms_dtype.name in _NOT_MULTIPLIED:
        raise RuntimeError(
            f"HCCL: Unsupported data type torch.{tensor._ms_dtype.name} for ReduceOp.PRODUCT; bring it to another, or to the CPU"
        )


_carriers: dict[str, Any] = {}
# Groups that create their communicator with their first device tensor: their ranks, and the group of all ranks.
_later: dict[str, tuple[Sequence[int], Any]] = {}


class _HostFlat:
    """The elements of a tensor of the stand-in device as a flat array of the host, which ``put_back`` writes to the tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.flat = np.array(host_array(value_of(tensor)), order="C").reshape(-1)

    def put_back(self) -> None:
        """Write the array to the tensor."""
        put_raw(self._tensor, from_numpy(self.flat.reshape(self._tensor._ms_shape).copy()))


def carrier_of(group: Members) -> Any:
    """Return what transfers a group's device tensors: a Carrier, or gloo's functions on the stand-in device."""
    if group.group_name in _later:
        _connect_devices(group, *_later[group.group_name])
        del _later[group.group_name]
    if group.group_name not in _carriers:
        raise RuntimeError(f"the group {group.group_name} was made without HCCL; name the backend hccl, or cpu:gloo,npu:hccl")
    return _carriers[group.group_name]


def flat_of_device(tensor: Tensor, kept: bool) -> DeviceFlat | _HostFlat:
    """Return a device tensor as a flat row; it is a copy with ``kept``."""
    return _HostFlat(tensor) if BY_HOST else DeviceFlat(tensor, kept)


def _connect_devices(group: Members, ranks: Sequence[int], everyone: Members) -> None:
    """Connect all ranks' devices when the first device tensor is sent. Raise DistBackendError on a timeout, which means that some rank
    sends none.
    """
    try:
        meet_devices(everyone)
    except DistStoreError as error:
        raise DistBackendError(
            "init_process_group() named no backend, so that the devices of all processes meet with the first tensor of a device that each "
            f"sends, and one sends none: name the backend (\"cpu:gloo,npu:hccl\"), and they meet there. {error}"
        ) from None
    join_devices(group, ranks)


def is_joined(group: Members) -> bool:
    """Return whether a group's device communicator has been created."""
    return group.group_name in _carriers and not BY_HOST


def have_met() -> bool:
    """Return whether the devices of all ranks are connected."""
    return bool(_met)


def join_later(group: Members, ranks: Sequence[int], everyone: Members) -> None:
    """Create the group's device communicator at its first device tensor, as torch does for a group without an explicit backend."""
    if carries_devices(group._config):
        _later[group.group_name] = ranks, everyone


def carries_devices(config: BackendConfig) -> bool:
    """Return whether a backend transfers tensors of Ascend devices."""
    return "npu" in config.get_device_backend_map()


def meet_devices(everyone: Members) -> None:
    """Connect the devices of all ranks, if they are not connected yet; every rank has to call this."""
    if everyone.size() == 1 or _met:
        return
    binding.use_own(everyone.rank())  # afterwards MindSpore refuses to choose a device
    store, key = everyone.get_group_store(), f"hccl address {len(_meetings)}"
    if everyone.rank() == 0:
        store.set(key, collectives.free_address())
    address = store.get(key).decode()
    if not BY_HOST:
        store.set(f"{key}, device of {everyone.rank()}", f"{socket.gethostname()} npu:{binding.index()}")
        try:
            communication.start(address, everyone.rank(), everyone.size(), everyone._timeout)
        except RuntimeError as error:
            raise RuntimeError(f"{_on_one_device(everyone, store, key)}{error}") from None
    _met.append(everyone)
    _meetings.append(key)


def _on_one_device(everyone: Members, store: Any, key: str) -> str:
    """Return a sentence that names ranks which seem to have one device, a line before MindSpore's error; "" if each has its own."""
    owners: dict[str, list[int]] = {}
    for rank in range(everyone.size()):
        if store.check([f"{key}, device of {rank}"]):
            owners.setdefault(store.get(f"{key}, device of {rank}").decode(), []).append(rank)
    return "".join(
        f"HCCL: the processes {', '.join(map(str, ranks))} have one device, {place.split()[-1]} of {place.split()[0]}: each calls "
        "torch.npu.set_device(local_rank) first.\n" for place, ranks in owners.items() if len(ranks) > 1
    )  # fmt: skip


def join_devices(group: Members, ranks: Sequence[int]) -> None:
    """Create the device communicator of a group, if its backend has one."""
    if not carries_devices(group._config):
        return
    if len(ranks) == 1:
        _carriers[group.group_name] = host if BY_HOST else Alone()
        return
    if not _met:
        raise RuntimeError("a group for tensors of devices that all processes make is expected first: init_process_group(\"hccl\")")
    if BY_HOST:
        _carriers[group.group_name] = host
        return
    handle = None if group.group_desc == "default_pg" else communication.new_group(ranks)
    _carriers[group.group_name] = Carrier(communication, ranks, group._me, handle)


def leave_devices(group: Members) -> None:
    """Destroy the device communicator of a group; destroying the default group's destroys all."""
    _carriers.pop(group.group_name, None)
    _later.pop(group.group_name, None)
    if _met and _met[0] is group:
        _met.clear()
        _carriers.clear()
        if not BY_HOST:
            communication.end(None)


_meetings: list[str] = []  # ids of the rendezvous, one per start
_met: list[Any] = []  # the group of all ranks whose devices are connected


def available(name: str) -> Any:
    """Return the Backend of a name. Raise RuntimeError if torch needs a special build for it, NotImplementedError if mstorch lacks it."""
    backend = Backend(name)
    for one in dict.fromkeys(BackendConfig(backend).get_device_backend_map().values()):
        if one == Backend.MPI:
            raise RuntimeError(
                "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a host "
                "that has MPI installed."
            )
        if one == "hccl" and hccl_is_there():
            continue
        if one in NAMES and backend == one:
            raise RuntimeError(
                f"Distributed package doesn't have {NAMES[one]} built in: mstorch carries tensors of the CPU, by gloo, and of Ascend "
                "devices, by hccl"
            )
        if one not in (*NAMES, Backend.GLOO):
            raise NotImplementedError(f"mstorch: torch.distributed has no backend {one!r} {not_yet()}")
    return backend
