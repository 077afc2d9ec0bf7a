"""What carries tensors of a device between processes: HCCL, by MindSpore; on the stand-in device the transport of the host plays it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._backend import runtime
from .._backend.raw import from_numpy, host_array
from .._core.device import current
from .._core.tensor_base import put_raw, value_of
from .._hook import not_yet
from ._types import Backend, BackendConfig, ReduceOp

NAMES = {"nccl": "NCCL", "hccl": "HCCL", "xccl": "XCCL", "ucc": "UCC"}
PLAYED = bool(runtime.FAKE_DEVICE)
"""Whether the host's transport plays HCCL."""

if current().type == "npu" and not PLAYED:
    from .._backend import collectives

# What HCCL carries (torch_npu's documentation): no double precision, no truth values, no complex numbers.
_CARRIED = frozenset(("float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8"))


def hccl_is_there() -> bool:
    """Whether this process computes on an Ascend device."""
    return current().type == "npu"


def check_carried(what: str, tensor: Any) -> None:
    """Raise RuntimeError for a dtype that HCCL does not carry."""
    if tensor._dtype.name not in _CARRIED:
        raise RuntimeError(
            f"HCCL: Unsupported data type torch.{tensor._dtype.name} in torch.distributed.{what}; bring it to another, or to the CPU"
        )


class _PlayedFlat:
    """A device's elements in a row in host memory, which ``put_back`` writes to the device."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.flat = np.array(host_array(value_of(tensor)), order="C").reshape(-1)

    def put_back(self) -> None:
        """Write the elements back."""
        put_raw(self._tensor, from_numpy(self.flat.reshape(self._tensor._shape).copy()))


class _DeviceFlat:
    """A device's elements in a row in memory of their own, which ``put_back`` writes back."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.flat = collectives.row_of(value_of(tensor))

    def put_back(self) -> None:
        """Write the elements back."""
        put_raw(self._tensor, collectives.shaped(self.flat, self._tensor._shape))


def flat_of_device(tensor: Any) -> Any:
    """The elements of a device's tensor as what carries them takes them."""
    return _PlayedFlat(tensor) if PLAYED else _DeviceFlat(tensor)


class _Carrier:
    """The operations of a group on a device's rows of elements, with the arguments of those of the host."""

    def __init__(self, group: Any, handle: str | None) -> None:
        self._ranks, self._handle, self._native = group._ranks, handle, collectives

    def _op(self, op: ReduceOp) -> str:
        if op.name not in self._native.OPS:
            raise RuntimeError(f"HCCL has no ReduceOp.{op.name}")
        return op.name

    def split(self, flat: Any, count: int) -> Sequence[Any]:
        """Equal parts of a row."""
        return self._native.split(flat, count)  # type: ignore[no-any-return]

    def join(self, parts: Sequence[Any], into: Any) -> None:
        """Let a row be these parts."""
        into.flat = self._native.joined(parts)

    def all_reduce(self, exchange: Any, flat: Any, op: ReduceOp) -> None:
        """Replace a row by the combination of all members'."""
        self._native.all_reduce(self._handle, flat, self._op(op))

    def broadcast(self, exchange: Any, flat: Any, root: int) -> None:
        """Fill a row with the root's."""
        self._native.broadcast(self._handle, flat, self._ranks[root])

    def all_gather(self, exchange: Any, outputs: list[Any], flat: Any) -> None:
        """Fill a row for each member with its."""
        whole = self._native.joined(outputs)
        self._native.all_gather(self._handle, whole, flat)
        outputs[:] = self._native.split(whole, len(outputs))

    def all_gather_pieces(self, exchange: Any, into: Sequence[Sequence[Any]], given: Sequence[Any]) -> None:
        """Fill the rows for each member with its; members may have different numbers of elements."""
        native = self._native
        for places in native.by_dtype([row.flat for row in given]):
            taken = [[rows[place] for place in places] for rows in into]
            longest = max(sum(row.flat.size for row in rows) for rows in taken)
            if longest:
                own = native.padded([given[place].flat for place in places], longest)
                whole = native.padded([own] * len(into), longest * len(into))
                native.all_gather(self._handle, whole, own)
                for member, rows in enumerate(taken):
                    self._cut(whole, member * longest, rows)

    def reduce_scatter_pieces(self, exchange: Any, into: Sequence[Any], given: Sequence[Sequence[Any]], op: ReduceOp) -> None:
        """Fill the rows that this member has with the combination of what all have for it; members' parts may differ in size."""
        native = self._native
        longest = max(sum(row.flat.size for row in rows) for rows in given)
        if longest:
            wholes = [native.padded([row.flat for row in rows], longest) for rows in given]
            output = native.padded(wholes[:1], longest)
            native.reduce_scatter(self._handle, output, native.joined(wholes), self._op(op))
            self._cut(output, 0, into)

    def _cut(self, whole: Any, start: int, rows: Sequence[Any]) -> None:
        """Let rows be the parts of a whole from ``start`` on."""
        for row, part in zip(rows, self._native.cut(whole, start, [row.flat.size for row in rows])):
            row.flat = part

    def reduce(self, exchange: Any, flat: Any, op: ReduceOp, root: int) -> None:
        """Replace the root's row by the combination of all members'."""
        self._native.reduce(self._handle, flat, self._op(op), self._ranks[root])

    def reduce_scatter(self, exchange: Any, output: Any, inputs: Sequence[Any], op: ReduceOp) -> None:
        """Fill a row with the combination of what all members have for this one."""
        self._native.reduce_scatter(self._handle, output, self._native.joined(inputs), self._op(op))

    def gather(self, exchange: Any, outputs: Sequence[Any], flat: Any, root: int) -> None:
        """Fill the root's rows with each member's."""
        self._native.gather(self._handle, outputs or None, flat, self._ranks[root])

    def scatter(self, exchange: Any, flat: Any, inputs: Sequence[Any], root: int) -> None:
        """Fill each member's row with the one that the root has for it."""
        self._native.scatter(self._handle, flat, inputs or None, self._ranks[root])

    def all_to_all(self, exchange: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Fill a row for each member with what it has for this one."""
        self._native.all_to_all(self._handle, outputs, inputs)

    def send(self, flat: Any, member: int) -> None:
        """Send a row to a member."""
        self._native.send(self._handle, flat, self._ranks[member])

    def recv(self, flat: Any, member: int) -> None:
        """Fill a row with one that a member sends."""
        self._native.receive(self._handle, flat, self._ranks[member])


_handles: dict[str, str | None] = {}


def carrier_of(group: Any) -> _Carrier:
    """What carries the tensors of a device in a group."""
    if group.group_name not in _handles:
        raise RuntimeError(f"the group {group.group_name} was made without HCCL; name the backend hccl, or cpu:gloo,npu:hccl")
    return _Carrier(group, _handles[group.group_name])


def join_devices(group: Any, ranks: Sequence[int] | None = None) -> None:
    """Let a group that is to carry a device's tensors do so: the first of all processes (``ranks`` None), or some of them."""
    if PLAYED or "npu" not in group._config.get_device_backend_map():
        return
    native = collectives
    if ranks is None:
        store, key = group.get_group_store(), "hccl address"
        if group.rank() == 0:
            store.set(key, native.free_address())
        native.start(store.get(key).decode(), group.rank(), group.size())
        _handles[group.group_name] = None
    else:
        _handles[group.group_name] = native.new_group(ranks)


def available(name: Any) -> Any:
    """The backend of a name. RuntimeError where torch would have to be built with it, NotImplementedError where it is missing here."""
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
