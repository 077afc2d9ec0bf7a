"""Communication between devices by MindSpore (HCCL on Ascend); the only caller of mindspore.mint.distributed.

Each operation is asynchronous and returns a handle, whose ``wait`` makes later work of the device wait for it without blocking the host.
Names and argument order are checked against MindSpore's source by tests/distributed/test_mccl.py. All of it runs on MindSpore's own Ascend
plugin, with HCCL emulated between processes (tests/cann), and part of it by MindSpore's CPU communication
(tests/distributed/mccl_script.py). Never run on an Ascend.
"""
from __future__ import annotations

import ctypes
import functools
import itertools
import os
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from mindspore.mint import distributed

from .device_memory import zeros
from .raw import NAME_OF, NP_DTYPE, Raw, from_numpy, scalar
from .table import kernel
from .turns import LOCK

_reshape, _slice, _cat, _clone = kernel("reshape"), kernel("slice"), kernel("cat"), kernel("clone")
_div = kernel("div")

OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max"}
"""The reductions that HCCL has, by torch's names."""


def free_address() -> str:
    """Return an unused address (host:port) of this machine."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{listener.getsockname()[1]}"


def row_of(raw: Raw) -> Raw:
    """Return a flat contiguous copy: collectives write from the start of the memory."""
    name = NAME_OF[raw.dtype]
    return _clone[name](_reshape[name](raw, (-1,)))


def shaped(flat: Raw, shape: Sequence[int]) -> Raw:
    """Return a flat tensor reshaped."""
    return _reshape[NAME_OF[flat.dtype]](flat, tuple(shape))


def joined(parts: Sequence[Raw]) -> Raw:
    """Concatenate flat tensors into new memory. If all are empty the result has one element, because MindSpore's kernels reject empty
    tensors.
    """
    name, full = NAME_OF[parts[0].dtype], [part for part in parts if part.size]
    if not full:
        return zeros((1,), name)
    return _cat[name](tuple(full), 0) if len(full) > 1 else _clone[name](full[0])


def padded(parts: Sequence[Raw], size: int) -> Raw:
    """Concatenate parts into a new flat tensor of ``size`` elements, padded with zeros."""
    gap = size - sum(part.size for part in parts)
    return joined([*parts, zeros((gap,), NAME_OF[parts[0].dtype])] if gap else parts)


def cut(flat: Raw, start: int, sizes: Sequence[int]) -> list[Raw]:
    """Split a flat tensor from ``start`` on into read-only parts of these sizes; the parts may share its memory."""
    ends, name = list(itertools.accumulate(sizes, initial=start)), NAME_OF[flat.dtype]
    nothing = from_numpy(np.empty(0, NP_DTYPE[name]))
    return [_slice[name](flat, 0, first, last, 1) if first < last else nothing for first, last in zip(ends, ends[1:])]


def divided(flat: Raw, count: int) -> Raw:
    """Divide a flat tensor by a number."""
    name = NAME_OF[flat.dtype]
    return _div[name](flat, scalar(count, name))


def empty(size: int, like: Raw) -> Raw:
    """Return a flat tensor of ``size`` elements, at least one: MindSpore's kernels reject empty tensors."""
    return zeros((max(size, 1),), NAME_OF[like.dtype])


@lru_cache(maxsize=1)
def _end_without_mindspore() -> None:
    """Let this process end, after Python has ended, with its own exit status.

    A start of HCCL that failed leaves threads that nothing in MindSpore joins, not even ``destroy_process_group``: its destructors would
    end the process with SIGABRT or SIGSEGV instead.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):  # glibc's; what is registered last is called first, with the status
        library.on_exit(library._exit, None)


class Handle:
    """A communication that was started. ``wait`` takes a turn, too: it puts a task into the queue of launches."""

    def __init__(self, begun: Any) -> None:
        self._begun = begun

    def wait(self) -> None:
        """Let later work of the device wait for the communication; the host goes on."""
        with LOCK:
            self._begun.wait()


def _in_turn(start: Callable[..., Any]) -> Callable[..., Handle]:
    """Return a method that starts a communication when no other thread calls MindSpore."""

    @functools.wraps(start)
    def call(*args: Any) -> Handle:
        with LOCK:
            return Handle(start(*args))

    return call


class Communication:
    """Collectives of process groups, given by MindSpore's names (None: the default group), on flat tensors."""

    def __init__(self, native: Any = distributed) -> None:
        self._native = native

    def start(self, address: str, rank: int, size: int, timeout: timedelta) -> None:
        """Initialize the default group; ``address`` (host:port) is where rank 0 listens."""
        try:
            self._native.init_process_group("hccl", init_method=f"tcp://{address}", timeout=timeout, world_size=size, rank=rank)
        except RuntimeError:
            _end_without_mindspore()
            raise

    def end(self, group: str | None) -> None:
        """End a process group, or all groups if none is given."""
        self._native.destroy_process_group(group)

    def new_group(self, ranks: Sequence[int]) -> str:
        """Return the name of a new group of ranks in the given order; only its members call it. Raise RuntimeError if HCCL refuses."""
        name = self._native.new_group(list(ranks))
        if not name:
            raise RuntimeError(f"HCCL makes no group of the processes {list(ranks)}; MindSpore's log says why")
        return str(name)

    @_in_turn
    def all_reduce(self, group: str | None, flat: Raw, op: str) -> Any:
        """All-reduce a tensor in place."""
        return self._native.all_reduce(flat, OPS[op], group, True)

    @_in_turn
    def broadcast(self, group: str | None, flat: Raw, root: int) -> Any:
        """Broadcast a tensor in place from a global rank."""
        return self._native.broadcast(flat, root, group, True)

    @_in_turn
    def all_gather(self, group: str | None, output: Raw, flat: Raw) -> Any:
        """All-gather the ranks' tensors into one tensor, concatenated in rank order."""
        return self._native.all_gather_into_tensor(output, flat, group, True)

    @_in_turn
    def all_gather_list(self, group: str | None, outputs: Sequence[Raw], flat: Raw) -> Any:
        """All-gather into a list of tensors, one per rank."""
        return self._native.all_gather(list(outputs), flat, group, True)

    @_in_turn
    def reduce_scatter(self, group: str | None, output: Raw, flat: Raw, op: str) -> Any:
        """Reduce ``flat`` across the group, and write this rank's chunk of the result to ``output``."""
        return self._native.reduce_scatter_tensor(output, flat, OPS[op], group, True)

    @_in_turn
    def reduce(self, group: Any, flat: Raw, op: str, root: int) -> Any:
        """Reduce a tensor in place on the root; the tensors of other ranks are undefined afterwards."""
        return self._native.reduce(flat, root, OPS[op], group, True)

    @_in_turn
    def scatter(self, group: Any, output: Raw, parts: Sequence[Raw], root: int) -> Any:
        """Scatter the root's parts, one to each rank's tensor; other ranks pass equally many tensors, which are not read."""
        return self._native.scatter(output, list(parts), root, group, True)

    @_in_turn
    def all_to_all(self, group: Any, output: Raw, flat: Raw, taken: Sequence[int], given: Sequence[int]) -> Any:
        """Send a part of ``flat`` to each rank, of lengths ``given``, and write the received parts, of lengths ``taken``, to ``output``."""
        return self._native.all_to_all_single(output, flat, list(taken), list(given), group, True)

    @_in_turn
    def send(self, group: Any, flat: Raw, to: int) -> Any:
        """Send a tensor to a rank."""
        return self._native.isend(flat, to, group)

    @_in_turn
    def receive(self, group: Any, flat: Raw, source: int) -> Any:
        """Receive a tensor from a rank."""
        return self._native.irecv(flat, source, group)

    @_in_turn
    def together(self, group: Any, calls: Sequence[tuple[str, Raw, int]]) -> Any:
        """Start several sends and receives ("isend", "irecv") as one batch, so that none blocks another."""
        ops = [self._native.P2POp(name, flat, peer, group) for name, flat, peer in calls]
        return self._native.batch_isend_irecv(ops)[0]

    def barrier(self, group: Any) -> None:
        """Wait for all ranks of the group, and for earlier work of this device."""
        with LOCK:
            handle = self._native.barrier(group, True)
        handle.wait()  # not in a turn: the host waits here for other processes, whose turn may be another thread's of this one
