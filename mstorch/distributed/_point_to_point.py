"""Point-to-point sends and receives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ._collectives import asks, check_tensor, member_of, real
from ._group import ProcessGroup
from ._work import Work
from ._world import chosen, get_global_rank, get_rank, outside, warn_outside


def _not_oneself(group: ProcessGroup, rank: int, kind: str) -> None:
    if group.rank() == rank:
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")


@asks()
def isend(
    tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Start to send a tensor to rank ``dst`` and return a Work. Raise ValueError if there is no process group."""
    return _begin_send("isend", tensor, dst, group, tag, group_dst, False)


def _begin_send(
    name: str, tensor: Tensor, dst: int | None, group: ProcessGroup | None, tag: int, group_dst: int | None, patient: bool
) -> Work:
    found = chosen(group)
    member = member_of(found, dst, group_dst)
    if patient and not outside(found):
        _not_oneself(found, member, "destination")
    check_tensor(tensor, "tensor")
    if outside(found):
        return warn_outside(name)
    return found.send([real(tensor)], member, tag, patient)


@asks()
def irecv(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Start to receive a tensor from rank ``src``, or from any, and return a Work. Raise ValueError if there is no process group."""
    check_tensor(tensor, "tensor")
    found = chosen(group)
    if outside(found):
        return warn_outside("irecv")
    if src is None and group_src is None:
        return found.recv_anysource([real(tensor)], tag)
    return found.recv([real(tensor)], member_of(found, src, group_src), tag)


@asks()
def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to rank ``dst``. Raise ValueError if there is no process group, or if ``dst`` is this rank."""
    work = _begin_send("send", tensor, dst, group, tag, group_dst, True)
    if work is not None:
        work.wait()


@asks()
def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from rank ``src``, or from any; return the sender's rank, -1 outside the group. Raise ValueError if there is no
    process group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return get_global_rank(group, work.source_rank()) if src is None else src


class P2POp:
    """A send or receive for ``batch_isend_irecv``. Raises ValueError if there is no process group."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
        group_peer: int | None = None
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = chosen(group)
        self.group_peer = member_of(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer) if peer is None else peer

    def __repr__(self) -> str:
        here, there = get_rank(self.group), self.group_peer
        source, to = (here, there) if self.op is isend else (there, here)
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={to},  {self.tensor.shape}, "
            f"{self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start several sends and receives and return their Works. Raise ValueError if an entry is not a P2POp, or if the groups differ."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    group = p2p_op_list[0].group
    if not all(op.group is group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    if not outside(group):
        calls = [(op.op.__name__, real(op.tensor), op.group_peer) for op in p2p_op_list]
        together = group.send_and_recv(calls)
        if together is not None:
            return list(together)
    works = []
    for op in p2p_op_list:
        peer = "group_dst" if op.op is isend else "group_src"
        works.append(op.op(op.tensor, group=op.group, tag=op.tag, **{peer: op.group_peer}))
    return [work for work in works if work is not None]


__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]
