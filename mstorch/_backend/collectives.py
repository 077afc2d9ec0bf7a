"""Communication between devices by MindSpore (HCCL on Ascend): the only place that calls mindspore.mint.distributed.

Each operation begins and gives a handle, whose ``wait`` lets what the device computes from then on wait for it: the host goes on.
The names and the order of arguments are held against MindSpore's source by tests/distributed/test_hccl.py; with what plays them
(``distributed/_played_hccl.py``) all of it runs on the stand-in device, and a part by MindSpore's own communication of the CPU
(tests/distributed/mccl_script.py). Never run on an Ascend.
"""
from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from mindspore.mint import distributed

from .device_memory import zeros
from .raw import NAME_OF, NP_DTYPE, Raw, from_numpy, scalar
from .table import kernel

_reshape, _slice, _cat, _clone = kernel("reshape"), kernel("slice"), kernel("cat"), kernel("clone")
_div = kernel("div")

OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max"}
"""The reductions that HCCL has, by torch's names."""


def free_address() -> str:
    """Return an unused address of this machine."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{listener.getsockname()[1]}"


def row_of(raw: Raw) -> Raw:
    """Return a contiguous copy of the elements in a row: collectives write from the start of the memory."""
    name = NAME_OF[raw.dtype]
    return _clone[name](_reshape[name](raw, (-1,)))


def shaped(flat: Raw, shape: Sequence[int]) -> Raw:
    """Return a row of elements in a shape."""
    return _reshape[NAME_OF[flat.dtype]](flat, tuple(shape))


def joined(parts: Sequence[Raw]) -> Raw:
    """Return parts as one row in new memory, of one element if they have none: MindSpore's kernels take no empty tensors."""
    name, full = NAME_OF[parts[0].dtype], [part for part in parts if part.size]
    if not full:
        return zeros((1,), name)
    return _cat[name](tuple(full), 0) if len(full) > 1 else _clone[name](full[0])


def padded(parts: Sequence[Raw], size: int) -> Raw:
    """Return parts as one row of ``size`` elements in memory of its own, with zeros at the end."""
    gap = size - sum(part.size for part in parts)
    return joined([*parts, zeros((gap,), NAME_OF[parts[0].dtype])] if gap else parts)


def cut(flat: Raw, start: int, sizes: Sequence[int]) -> list[Raw]:
    """Return the parts of these sizes of a row, from ``start`` on, for reading: they may share its memory."""
    ends, name = list(itertools.accumulate(sizes, initial=start)), NAME_OF[flat.dtype]
    nothing = from_numpy(np.empty(0, NP_DTYPE[name]))
    return [_slice[name](flat, 0, first, last, 1) if first < last else nothing for first, last in zip(ends, ends[1:])]


def divided(flat: Raw, count: int) -> Raw:
    """Return a row of elements, each divided by a number."""
    name = NAME_OF[flat.dtype]
    return _div[name](flat, scalar(count, name))


def copied(flat: Raw) -> Raw:
    """Return a row in memory of its own."""
    return _clone[NAME_OF[flat.dtype]](flat)


def empty(size: int, like: Raw) -> Raw:
    """Return a row of so many elements, or of one where there are none: MindSpore's kernels take no empty tensors."""
    return zeros((max(size, 1),), NAME_OF[like.dtype])


class Communication:
    """The operations of groups, given by MindSpore's names for them (None: all processes), on rows of elements."""

    def __init__(self, native: Any = distributed) -> None:
        self._native = native

    def start(self, address: str, rank: int, size: int, timeout: timedelta) -> None:
        """Join all processes; ``address`` (host:port) is where the first one listens."""
        self._native.init_process_group("hccl", init_method=f"tcp://{address}", timeout=timeout, world_size=size, rank=rank)

    def end(self, group: str | None) -> None:
        """Leave a group, or all of them."""
        self._native.destroy_process_group(group)

    def new_group(self, ranks: Sequence[int]) -> str:
        """Return the name of a new group of processes in the order of their numbers; its members ask for it. Raise RuntimeError if it
        cannot be made.
        """
        name = self._native.new_group(list(ranks))
        if not name:
            raise RuntimeError(f"HCCL makes no group of the processes {list(ranks)}; MindSpore's log says why")
        return str(name)

    def all_reduce(self, group: Any, flat: Raw, op: str) -> Any:
        """Replace a tensor by the combination of all members'."""
        return self._native.all_reduce(flat, OPS[op], group, True)

    def broadcast(self, group: Any, flat: Raw, root: int) -> Any:
        """Fill a tensor with that of the process with this number among all."""
        return self._native.broadcast(flat, root, group, True)

    def all_gather(self, group: Any, output: Raw, flat: Raw) -> Any:
        """Fill a tensor with each member's, one after the other."""
        return self._native.all_gather_into_tensor(output, flat, group, True)

    def all_gather_list(self, group: Any, outputs: Sequence[Raw], flat: Raw) -> Any:
        """Fill one tensor for each member with its tensor."""
        return self._native.all_gather(list(outputs), flat, group, True)

    def reduce_scatter(self, group: Any, output: Raw, flat: Raw, op: str) -> Any:
        """Fill a tensor with this member's part of the combination."""
        return self._native.reduce_scatter_tensor(output, flat, OPS[op], group, True)

    def reduce(self, group: Any, flat: Raw, op: str, root: int) -> Any:
        """Replace a process's tensor by the combination of all members'; the others' are undefined afterwards."""
        return self._native.reduce(flat, root, OPS[op], group, True)

    def scatter(self, group: Any, output: Raw, parts: Sequence[Raw], root: int) -> Any:
        """Fill each member's tensor with its part from one process; the others give as many tensors, which are not read."""
        return self._native.scatter(output, list(parts), root, group, True)

    def all_to_all(self, group: Any, output: Raw, flat: Raw, taken: Sequence[int], given: Sequence[int]) -> Any:
        """Fill a tensor with the members' parts for this one; ``taken`` and ``given`` are the lengths of the parts."""
        return self._native.all_to_all_single(output, flat, list(taken), list(given), group, True)

    def send(self, group: Any, flat: Raw, to: int) -> Any:
        """Send a tensor to a process."""
        return self._native.isend(flat, to, group)

    def receive(self, group: Any, flat: Raw, source: int) -> Any:
        """Fill a tensor with one that a process sends."""
        return self._native.irecv(flat, source, group)

    def together(self, group: Any, calls: Sequence[tuple[str, Raw, int]]) -> Any:
        """Send and receive ("isend", "irecv") several tensors at once, so that none waits for another."""
        ops = [self._native.P2POp(name, flat, peer, group) for name, flat, peer in calls]
        return self._native.batch_isend_irecv(ops)[0]

    def barrier(self, group: Any) -> None:
        """Wait for all members, and for earlier work of this device."""
        self._native.barrier(group)

    def is_done(self, handle: Any) -> bool:
        """Return whether an operation has completed. True for MindSpore's handles, which cannot be asked: later kernels wait for it."""
        asked = getattr(handle, "query", None)
        return asked is None or bool(asked())
