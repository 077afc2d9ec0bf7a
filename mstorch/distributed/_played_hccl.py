"""Emulate mindspore.mint.distributed on the stand-in device: HCCL over the host transport, with its contract checked.

Operations have MindSpore's names and arguments and reject what MindSpore's reject. In addition, buffers have to start at the first byte of
memory of their own, as HCCL reads it, and all ranks have to call the same operation with the same dtype and number of elements: a real
device does not check this, but waits forever or delivers another call's bytes.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.backend.device_memory import is_dense
from .._src.backend.raw import NAME_OF, Raw, host_array
from .._tensor import Tensor
from . import _host_backend as host
from ._mesh import Mesh
from ._types import ReduceOp
from ._work import Runner, Work

if TYPE_CHECKING:
    from ._group import ProcessGroup

_OPS = {"sum": ReduceOp.SUM, "prod": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX}
_MOVED = frozenset(("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8"))
_COMBINED = _MOVED - {"float64", "uint8"}
_WORLD = "hccl_world_group"
_WORDS_BYTES = 160


class _Handle:
    """Handle of an asynchronous operation."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def wait(self) -> None:
        """Wait for the operation. Raise RuntimeError if it failed."""
        self._work.wait()

    def query(self) -> bool:
        """Return whether the operation has completed."""
        return self._work.is_completed()


class _Members:
    """A group: its global ranks in ascending order, and the thread that runs its operations in order."""

    def __init__(self, name: str, ranks: Sequence[int], me: int) -> None:
        self.name, self.ranks, self.me = name, sorted(ranks), sorted(ranks).index(me)
        self.runner = Runner(name)
        self.count = 0
        self.between: dict[tuple[int, int], int] = {}

    def place(self, rank: int, what: str) -> int:
        """Return a global rank's position in the group. Raise TypeError if it is not an int, RuntimeError if it is not a member."""
        if not isinstance(rank, int):
            raise TypeError(f"{what}: a process is given by a number, not {rank!r}")
        if rank not in self.ranks:
            raise RuntimeError(f"{what}: process {rank} is not in the group {self.name} of {self.ranks}")
        return self.ranks.index(rank)


class P2POp:
    """A send or receive for ``batch_isend_irecv``, given by the function's name."""

    def __init__(
        self, op: Callable[..., Any] | str, tensor: Tensor, peer: int, group: ProcessGroup | None = None, tag: int = 0
    ) -> None:
        if op not in ("isend", "irecv") or tag:
            raise TypeError(f"isend or irecv without a tag is expected, not {op!r} with {tag}")
        self.op, self.tensor, self.peer, self.group = op, tensor, peer, group


class PlayedHccl:
    """The functions of mindspore.mint.distributed that ``_src/backend/collectives.py`` calls."""

    P2POp = P2POp

    def __init__(self) -> None:
        self._groups: dict[str, _Members] = {}
        self._seconds = 0.0
        self._rank = 0
        self.mesh: Mesh | None = None

    # Groups

    def init_process_group(
        self, backend: str = "hccl", init_method: str | None = None, timeout: Any = None, world_size: int = -1, rank: int = -1,
        store: Any = None,
        group_name: str = "", pg_options: Any = None, device_id: Any = None,
    ) -> None:  # fmt: skip
        """Create the group of all ranks."""
        if backend != "hccl" or not str(init_method).startswith("tcp://") or store is not None:
            raise ValueError("hccl and a tcp:// address are expected")
        if _WORLD in self._groups:
            raise RuntimeError("init_process_group was called before")
        if not isinstance(timeout, timedelta) or self.mesh is None:
            raise TypeError("a timedelta is expected")
        self._seconds, self._rank = timeout.total_seconds(), rank
        self._groups[_WORLD] = _Members(_WORLD, range(world_size), rank)

    def destroy_process_group(self, group: str | None = None) -> None:
        """Destroy a group, or all."""
        for name in list(self._groups) if group is None else [group]:
            self._groups.pop(name).runner.end()

    def new_group(
        self, ranks: Sequence[int] | None = None, timeout: Any = None, backend: Any = None, pg_options: Any = None,
        use_local_synchronization: bool = False, group_desc: Any = None
    ) -> str:  # fmt: skip
        """Create a group of some ranks, including this one; groups of the same ranks share one implementation."""
        if _WORLD not in self._groups:
            raise RuntimeError("init_process_group has to be called before")
        if not isinstance(ranks, list) or self._rank not in ranks:
            raise TypeError(f"a list of processes with this one among them is expected, not {ranks!r}")
        name = "hccl_" + "_".join(map(str, sorted(ranks)))
        if name not in self._groups:
            self._groups[name] = _Members(name, ranks, self._rank)
        return name

    def _members(self, group: str | None, what: str) -> _Members:
        name = _WORLD if group is None else group
        if not isinstance(name, str) or name not in self._groups:
            raise RuntimeError(f"{what}: this process is in no group {name!r}")
        return self._groups[name]

    # Running operations

    def _run(
        self, members: _Members, what: str, words: str, function: Callable[[host.Exchange], None], async_op: bool
    ) -> _Handle | None:
        """Run an operation on all ranks, after checking that they called the same one."""
        if not isinstance(async_op, bool):
            raise TypeError(f"{what}: async_op is a bool, not {async_op!r}")
        members.count += 1
        key = b"hccl %s %d/" % (members.name.encode(), members.count)

        def run() -> None:
            self._compare(host.Exchange(self._mesh(), members.ranks, members.me, key + b"words/", self._seconds), f"{what} {words}")
            function(host.Exchange(self._mesh(), members.ranks, members.me, key, self._seconds))

        return self._begin(members, f"{what} {words}", run, async_op)

    def _mesh(self) -> Mesh:
        assert self.mesh is not None
        return self.mesh

    def _begin(self, members: _Members, words: str, run: Callable[[], None], async_op: bool) -> _Handle | None:
        def told() -> None:
            try:
                run()
            except RuntimeError as error:
                gone = [rank for rank in members.ranks if rank != self._rank and self._mesh().peers[rank].ended]
                ended = f"rank {', '.join(map(str, gone))} has ended; " if gone else ""
                raise RuntimeError(f"HCCL: {ended}rank {self._rank} calls {words}: {error}") from None

        work = members.runner.submit(told, None)
        if async_op:
            return _Handle(work)
        work.wait()
        return None

    def _compare(self, exchange: host.Exchange, words: str) -> None:
        """Raise RuntimeError, naming the rank, if another rank's description of the call differs."""
        mine = np.frombuffer(words.encode().ljust(_WORDS_BYTES)[:_WORDS_BYTES], np.uint8)
        exchange.publish(exchange.others, 0, mine)
        for member in exchange.others:
            theirs = np.empty(_WORDS_BYTES, np.uint8)
            exchange.take(member, 0, theirs)
            if theirs.tobytes() != mine.tobytes():
                raise RuntimeError(f"rank {exchange.ranks[member]} calls {theirs.tobytes().decode().strip()}")

    # Collectives

    def all_reduce(self, tensor: Array | Raw, op: str = "sum", group: str | None = None, async_op: bool = False) -> _Handle | None:
        """Reduce a tensor over all ranks, in place."""
        (row, words), members = _row("all_reduce", tensor, _op("all_reduce", op)), self._members(group, "all_reduce")
        return self._run(members, "all_reduce", f"{op} {words}", lambda exchange: host.all_reduce(exchange, row, _OPS[op]), async_op)

    def broadcast(self, tensor: Raw, src: int, group: str | None = None, async_op: bool = False) -> _Handle | None:
        """Fill a tensor with that of rank ``src``."""
        (row, words), members = _row("broadcast", tensor), self._members(group, "broadcast")
        root = members.place(src, "broadcast")
        return self._run(members, "broadcast", f"{src} {words}", lambda exchange: host.broadcast(exchange, row, root), async_op)

    def all_gather_into_tensor(
        self, output_tensor: Raw, input_tensor: Raw, group: str | None = None, async_op: bool = False
    ) -> _Handle | None:
        """Fill a tensor with all ranks' tensors, concatenated."""
        what, members = "all_gather_into_tensor", self._members(group, "all_gather_into_tensor")
        (output, _), (row, words) = _row(what, output_tensor), _row(what, input_tensor)
        _fits(what, output, row, len(members.ranks))
        return self._run(members, what, words, lambda exchange: host.all_gather_row(exchange, output, row), async_op)

    def all_gather(self, tensor_list: Sequence[Raw], tensor: Raw, group: str | None = None, async_op: bool = False) -> _Handle | None:
        """Fill ``tensor_list`` with each rank's tensor."""
        (row, words), members = _row("all_gather", tensor), self._members(group, "all_gather")
        if not isinstance(tensor_list, list) or len(tensor_list) != len(members.ranks):
            raise TypeError(f"all_gather: a list of {len(members.ranks)} tensors is expected, not {type(tensor_list)}")
        outputs = [_part("all_gather", one) for one in tensor_list]
        for number, output in enumerate(outputs):
            _fits("all_gather", output, row, 1)
            if any(np.may_share_memory(output, other) for other in (row, *outputs[:number])):
                raise RuntimeError("all_gather: tensors that share memory")
        return self._run(members, "all_gather", words, lambda exchange: host.all_gather(exchange, outputs, row), async_op)

    def reduce_scatter_tensor(
        self, output: Raw, input: Raw, op: str = "sum", group: str | None = None, async_op: bool = False
    ) -> _Handle | None:
        """Reduce ``input`` over all ranks and fill ``output`` with this rank's chunk."""
        what, members = "reduce_scatter_tensor", self._members(group, "reduce_scatter_tensor")
        (part, _), (whole, words) = _row(what, output, _op(what, op)), _row(what, input)
        _fits(what, whole, part, len(members.ranks))
        return self._run(
            members, what, f"{op} {words}", lambda exchange: host.reduce_scatter_row(exchange, part, whole, _OPS[op]), async_op
        )

    def reduce(self, tensor: Raw, dst: int, op: str = "sum", group: Any = None, async_op: bool = False) -> _Handle | None:
        """Reduce a tensor in place on rank ``dst``; the other ranks' tensors are overwritten with garbage, since HCCL leaves them
        undefined.
        """
        (row, words), members = _row("reduce", tensor, _op("reduce", op)), self._members(group, "reduce")
        root = members.place(dst, "reduce")

        def work(exchange: host.Exchange) -> None:
            host.reduce(exchange, row, _OPS[op], root)
            if exchange.me != root:
                row[...] = 99

        return self._run(members, "reduce", f"{op} {dst} {words}", work, async_op)

    def scatter(
        self, tensor: Raw, scatter_list: Sequence[Raw] | None, src: int = 0, group: Any = None, async_op: bool = False
    ) -> _Handle | None:
        """Fill each rank's tensor with its entry of rank ``src``'s list."""
        (row, words), members = _row("scatter", tensor), self._members(group, "scatter")
        root = members.place(src, "scatter")
        if not isinstance(scatter_list, list) or len(scatter_list) != len(members.ranks):
            raise TypeError(f"scatter: every process gives a list of {len(members.ranks)} tensors, not {type(scatter_list)}")
        parts = [_part("scatter", one) for one in scatter_list]
        for part in parts:
            _fits("scatter", part, row, 1)
        return self._run(members, "scatter", f"{src} {words}", lambda exchange: host.scatter(exchange, row, parts, root), async_op)

    def all_to_all_single(
        self, output: Raw, input: Raw, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None,
        async_op: bool = False,
    ) -> _Handle | None:  # fmt: skip
        """Send one chunk to each rank, and fill ``output`` with the received chunks."""
        what, members = "all_to_all_single", self._members(group, "all_to_all_single")
        (into, _), (row, _) = _row(what, output), _row(what, input)
        if into.dtype != row.dtype:
            raise TypeError(f"{what}: tensors of {into.dtype} and {row.dtype}")
        for given, splits in ((into, output_split_sizes), (row, input_split_sizes)):
            if not isinstance(splits, list) or len(splits) != len(members.ranks) or max(sum(splits), 1) != given.size:
                raise ValueError(f"{what}: parts of {splits} of {given.size} elements for {len(members.ranks)} members")
        taken, sent = into[: sum(output_split_sizes)], row[: sum(input_split_sizes)]
        return self._run(
            members, what, str(row.dtype),
            lambda exchange: host.all_to_all_row(exchange, taken, sent, output_split_sizes, input_split_sizes), async_op,
        )  # fmt: skip

    def barrier(self, group: Any = None, async_op: bool = False, device_ids: Any = None) -> _Handle | None:
        """Wait for all ranks of the group."""
        return self._run(self._members(group, "barrier"), "barrier", "", lambda exchange: None, async_op)

    # Point to point

    def isend(self, tensor: Raw, dst: int = 0, group: ProcessGroup | None = None, tag: int = 0) -> _Handle | None:
        """Send a tensor to rank ``dst``."""
        return self.batch_isend_irecv([P2POp("isend", tensor, dst, group)])[0]

    def irecv(self, tensor: Raw, src: int = 0, group: ProcessGroup | None = None, tag: int = 0) -> _Handle | None:
        """Receive a tensor from rank ``src``."""
        return self.batch_isend_irecv([P2POp("irecv", tensor, src, group)])[0]

    def batch_isend_irecv(self, p2p_op_list: Sequence[Any]) -> list[_Handle | None]:
        """Start several sends and receives as one batch, so that none blocks another."""
        groups = {op.group for op in p2p_op_list}
        if len(groups) != 1:
            raise TypeError("the operations of one group are expected")
        members = self._members(groups.pop(), "batch_isend_irecv")
        calls: list[tuple[tuple[int, int], int, Array]] = []
        for op in sorted(p2p_op_list, key=lambda op: op.op, reverse=True):
            peer = members.place(op.peer, op.op)
            if peer == members.me:
                raise ValueError("Invalid destination rank: it is this process")
            ends = (members.me, peer) if op.op == "isend" else (peer, members.me)
            members.between[ends] = members.between.get(ends, 0) + 1
            calls.append((ends, members.between[ends], _row(op.op, op.tensor)[0]))

        def run() -> None:
            for ends, number, row in calls:
                pair = [members.ranks[end] for end in ends]
                key = f"hccl {members.name} {pair[0]} to {pair[1]} {number}/".encode()
                host.broadcast(host.Exchange(self._mesh(), pair, ends.index(members.me), key, self._seconds), row, 0)

        return [self._begin(members, f"{len(calls)} of isend and irecv", run, True)]


def _op(what: str, op: str) -> str:
    if op not in _OPS:
        raise TypeError(f"{what}: the reductions are {', '.join(_OPS)}, not {op!r}")
    return what


def _row(what: str, tensor: Array | Raw, combined: str = "") -> tuple[Array, str]:
    """Return a tensor's memory, and the description of it that has to agree on all ranks."""
    row = _part(what, tensor)
    if combined and NAME_OF[tensor.dtype] not in _COMBINED:
        raise RuntimeError(f"{what}: HCCL does not combine {NAME_OF[tensor.dtype]}")
    return row, f"{NAME_OF[tensor.dtype]} {row.size}"


def _part(what: str, tensor: Array | Raw) -> Array:
    if not isinstance(tensor, Raw):
        raise TypeError(f"{what}: a tensor is expected, not {type(tensor)}")
    if NAME_OF[tensor.dtype] not in _MOVED:
        raise RuntimeError(f"{what}: HCCL does not carry {NAME_OF[tensor.dtype]}")
    if not tensor.size:
        raise ValueError(f"{what}: a tensor without elements")
    memory = host_array(tensor)
    if not is_dense(tensor) or not np.may_share_memory(memory, host_array(tensor)):
        raise RuntimeError(f"{what}: a tensor that is not in memory of its own from the first byte on")
    return memory.reshape(-1)


def _fits(what: str, whole: Array, part: Array, count: int) -> None:
    if whole.dtype != part.dtype or whole.size != count * part.size:
        raise TypeError(f"{what}: {whole.size} elements of {whole.dtype}, and {count} times {part.size} of {part.dtype}")
