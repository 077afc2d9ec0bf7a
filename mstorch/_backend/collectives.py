"""Communication between devices by MindSpore (HCCL on Ascend): the only place that calls mindspore.mint.distributed.

The names and the order of arguments are held against MindSpore's source by tests/distributed/test_hccl.py. Never run on an Ascend.
"""
from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Sequence
from typing import Any

from mindspore.mint import distributed as native

from .device_memory import zeros
from .raw import NAME_OF, Raw
from .table import kernel

_reshape, _slice, _cat, _clone = kernel("reshape"), kernel("slice"), kernel("cat"), kernel("clone")

OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max"}
"""The reductions that HCCL has, by torch's names."""


def start(address: str, rank: int, size: int) -> None:
    """Join all processes; ``address`` (host:port) is where the first one listens."""
    native.init_process_group("hccl", init_method=f"tcp://{address}", world_size=size, rank=rank)


def end() -> None:
    """Leave all groups."""
    native.destroy_process_group()


def new_group(ranks: Sequence[int]) -> str:
    """The name of a group of some processes; every process has to ask for it."""
    return str(native.new_group(list(ranks)))


def free_address() -> str:
    """An address of this machine at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{listener.getsockname()[1]}"


def row_of(raw: Raw) -> Raw:
    """A copy of the elements in a row."""
    name = NAME_OF[raw.dtype]
    return _reshape[name](_clone[name](raw), (-1,))


def shaped(flat: Raw, shape: Sequence[int]) -> Raw:
    """A row of elements in a shape."""
    return _reshape[NAME_OF[flat.dtype]](flat, tuple(shape))


def split(flat: Raw, count: int) -> list[Raw]:
    """Equal parts of a row of elements, each in memory of its own."""
    size, name = flat.size // count, NAME_OF[flat.dtype]
    return [_slice[name](flat, 0, number * size, (number + 1) * size, 1) for number in range(count)]


def joined(parts: Sequence[Raw]) -> Raw:
    """Parts as one row."""
    return _cat[NAME_OF[parts[0].dtype]](tuple(parts), 0)


def padded(parts: Sequence[Raw], size: int) -> Raw:
    """Parts as one row of ``size`` elements in memory of its own, with zeros at the end."""
    name, full = NAME_OF[parts[0].dtype], [part for part in parts if part.size]
    gap = size - sum(part.size for part in full)
    if gap:
        full.append(zeros((gap,), name))
    return _cat[name](tuple(full), 0) if len(full) > 1 else _clone[name](full[0])


def cut(flat: Raw, start: int, sizes: Sequence[int]) -> list[Raw]:
    """Parts of a row of these sizes, from ``start`` on, each in memory of its own."""
    ends = list(itertools.accumulate(sizes, initial=start))
    return [_slice[NAME_OF[flat.dtype]](flat, 0, first, last, 1) for first, last in zip(ends, ends[1:])]


def by_dtype(rows: Sequence[Raw]) -> list[list[int]]:
    """The numbers of the rows of each dtype."""
    found: dict[Any, list[int]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row.dtype, []).append(number)
    return list(found.values())


def all_reduce(group: Any, flat: Raw, op: str) -> None:
    """Replace a tensor by the combination of all members'."""
    native.all_reduce(flat, OPS[op], group)


def broadcast(group: Any, flat: Raw, root: int) -> None:
    """Fill a tensor with that of a process, given by its number among all."""
    native.broadcast(flat, root, group)


def all_gather(group: Any, output: Raw, flat: Raw) -> None:
    """Fill a tensor with each member's, one after the other."""
    native.all_gather_into_tensor(output, flat, group)


def reduce_scatter(group: Any, output: Raw, flat: Raw, op: str) -> None:
    """Fill a tensor with this member's part of the combination."""
    native.reduce_scatter_tensor(output, flat, OPS[op], group)


def reduce(group: Any, flat: Raw, op: str, root: int) -> None:
    """Replace a process's tensor by the combination of all members'."""
    native.reduce(flat, root, OPS[op], group)


def gather(group: Any, outputs: Sequence[Raw] | None, flat: Raw, root: int) -> None:
    """Fill a process's tensors with each member's."""
    native.gather(flat, None if outputs is None else list(outputs), root, group)


def scatter(group: Any, flat: Raw, inputs: Sequence[Raw] | None, root: int) -> None:
    """Fill each member's tensor with the one that a process has for it."""
    native.scatter(flat, None if inputs is None else list(inputs), root, group)


def all_to_all(group: Any, outputs: Sequence[Raw], inputs: Sequence[Raw]) -> None:
    """Fill a tensor for each member with what it has for this one."""
    native.all_to_all(list(outputs), list(inputs), group)


def send(group: Any, flat: Raw, to: int) -> None:
    """Send a tensor to a process."""
    native.send(flat, to, group)


def receive(group: Any, flat: Raw, source: int) -> None:
    """Fill a tensor with one that a process sends."""
    native.recv(flat, source, group)


def barrier(group: Any) -> None:
    """Wait for all members."""
    native.barrier(group)
