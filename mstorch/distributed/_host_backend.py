"""The host backend, named gloo as torch's: collectives over the messages of a mesh.

Small tensors go directly from each rank to each. For larger ones, each rank reduces one chunk, from shared-memory blocks that all ranks
read; all ranks get bitwise equal results.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from ._calls import Mismatch, mismatch
from ._mesh import CHUNK_BYTES, INLINE_BYTES, Mesh, Message, Posting
from ._reduce import combine
from ._types import ReduceOp

_WRONG_SIZE = "mstorch: the processes gave tensors of different sizes: {} bytes came where {} were expected"


def bytes_of(array: Array) -> Array:
    """Return the bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8)


def _chunks(size: int, step: int) -> Iterator[slice]:
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


class Exchange:
    """One operation of a group: the key, call, group and timeout of its messages. Ranks are numbered within the group."""

    def __init__(self, mesh: Mesh, ranks: Sequence[int], me: int, key: bytes, seconds: float, told: bytes = b"") -> None:
        self.mesh, self.ranks, self.me, self.key, self.seconds, self.told = mesh, ranks, me, key, seconds, told
        self.size = len(ranks)
        self.others = [member for member in range(self.size) if member != me]

    def begin(self) -> None:
        """Tell the mesh of the call. Raise Mismatch if another rank calls something else."""
        missed = self.mesh.calls.begin(self.told)
        if missed is not None:
            self.mesh.tell([self.ranks[member] for member in self.others], self.told)
            raise self._ended(*missed)

    def end(self) -> None:
        """Raise Mismatch if another rank called something else in an earlier call of the group. (This one is complete: others need it.)"""
        missed = self.mesh.calls.earlier(self.told)
        if missed is not None:
            raise self._ended(*missed)

    def _ended(self, own: bytes, other: int, theirs: bytes) -> Mismatch:
        """End a call that does not match another rank's; return the error."""
        self.mesh.settle(own)
        return mismatch(self.ranks[self.me], own, other, theirs)

    def publish(self, members: Sequence[int], step: int, *parts: Array) -> None:
        """Send bytes, in contiguous parts, to ranks of the group."""
        self.mesh.publish([self.ranks[member] for member in members], self.key + step.to_bytes(4, "little"), *parts, told=self.told)

    def message(self, member: int, step: int, size: int) -> Message:
        """Return a member's message of a step. Raise RuntimeError if its call or size differs, or on a timeout."""
        rank = self.ranks[member]
        message = self.mesh.receive(rank, self.key + step.to_bytes(4, "little"), self.seconds, self.told)
        if message.told != self.told:
            told = message.told
            message.free()
            self.mesh.tell([self.ranks[member] for member in self.others], self.told)
            raise self._ended(self.told, rank, told)
        if message.data.nbytes != size:
            got = message.data.nbytes
            message.free()
            raise RuntimeError(_WRONG_SIZE.format(got, size))
        return message

    def take(self, member: int, step: int, out: Array) -> None:
        """Copy a member's message of a step to ``out``."""
        message = self.message(member, step, out.nbytes)
        np.copyto(out, message.data)
        message.free()


def barrier(exchange: Exchange) -> None:
    """Wait for all ranks, by a dissemination barrier of ceil(log2(size)) rounds."""
    distance, step = 1, 0
    nothing = np.empty(0, np.uint8)
    while distance < exchange.size:
        exchange.publish([(exchange.me + distance) % exchange.size], step, nothing)
        exchange.take((exchange.me - distance) % exchange.size, step, nothing)
        distance, step = 2 * distance, step + 1


def broadcast(exchange: Exchange, array: Array, root: int) -> None:
    """Fill ``array`` with the root's."""
    data = bytes_of(array)
    for step, part in enumerate(_chunks(data.size, CHUNK_BYTES)):
        if exchange.me == root:
            exchange.publish(exchange.others, step, data[part])
        else:
            exchange.take(root, step, data[part])


def all_gather(exchange: Exchange, outputs: Sequence[Array], array: Array) -> None:
    """Fill ``outputs`` with each rank's array."""
    data, into = bytes_of(array), [bytes_of(output) for output in outputs]
    np.copyto(into[exchange.me], data)
    for step, part in enumerate(_chunks(data.size, CHUNK_BYTES)):
        exchange.publish(exchange.others, step, data[part])
        for member in exchange.others:
            exchange.take(member, step, into[member][part])


def all_gather_row(exchange: Exchange, output: Array, array: Array) -> None:
    """Fill a flat array with all ranks' arrays, concatenated."""
    all_gather(exchange, np.split(output, exchange.size), array)


class Pieces:
    """Flat arrays of one dtype, addressed as one contiguous range of elements."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = [array for array in arrays if array.size]
        self.size = sum(array.size for array in self._arrays)

    def windows(self, part: slice) -> list[Array]:
        """Return views of the arrays' pieces in a range."""
        found, start = [], 0
        for array in self._arrays:
            first, last = max(part.start - start, 0), min(part.stop - start, array.size)
            if first < last:
                found.append(array[first:last])
            start += array.size
        return found

    def write(self, part: slice, data: Array) -> None:
        """Copy ``data`` to a range."""
        start = 0
        for window in self.windows(part):
            np.copyto(window, data[start : start + window.size])
            start += window.size

    def take(self, other: Pieces) -> None:
        """Copy all elements of another Pieces of the same layout."""
        for array, given in zip(self._arrays, other._arrays):
            np.copyto(array, given)

    def within(self, part: slice) -> int:
        """Return how many elements of a range exist: those before the end of the last array."""
        return max(min(part.stop, self.size) - part.start, 0)


def all_gather_pieces(exchange: Exchange, into: Sequence[Sequence[Any]], given: Sequence[Any]) -> None:
    """Fill ``into`` with each rank's rows; ranks may have different numbers of elements."""
    outputs = [Pieces([bytes_of(row.flat) for row in rows]) for rows in into]
    own = Pieces([bytes_of(row.flat) for row in given])
    for step, part in enumerate(_chunks(max(pieces.size for pieces in outputs), CHUNK_BYTES)):
        if own.within(part):
            exchange.publish(exchange.others, step, *own.windows(part))
        for member in exchange.others:
            expected = outputs[member].within(part)
            if expected:
                message = exchange.message(member, step, expected)
                outputs[member].write(part, message.data)
                message.free()
    outputs[exchange.me].take(own)


def reduce_scatter_pieces(exchange: Exchange, into: Sequence[Any], given: Sequence[Sequence[Any]], op: ReduceOp) -> None:
    """Reduce-scatter several rows: fill ``into`` with this rank's reduced rows; ranks' shards may differ in size."""
    output, inputs = Pieces([row.flat for row in into]), [Pieces([row.flat for row in rows]) for rows in given]
    dtype = into[0].flat.dtype
    for step, part in enumerate(_chunks(max(pieces.size for pieces in inputs), CHUNK_BYTES // dtype.itemsize)):
        for member in exchange.others:
            if inputs[member].within(part):
                exchange.publish([member], step, *map(bytes_of, inputs[member].windows(part)))
        if output.within(part):
            out = np.empty(output.within(part), dtype)
            _combined(exchange, step, out, np.concatenate(inputs[exchange.me].windows(part)), op)
            output.write(part, out)


def all_reduce(exchange: Exchange, array: Array, op: ReduceOp) -> None:
    """Reduce a flat array over all ranks, in place."""
    if exchange.size == 1:
        combine(op, [array], array)
        return
    per_chunk = CHUNK_BYTES // array.itemsize
    directly = array.nbytes <= INLINE_BYTES // exchange.size
    for number, part in enumerate(_chunks(array.size, per_chunk)):
        chunk = array[part]
        bounds = [chunk.size * member // exchange.size for member in range(exchange.size + 1)]
        shares = [slice(0, chunk.size)] * exchange.size if directly else [slice(*pair) for pair in zip(bounds, bounds[1:])]
        exchange.publish(exchange.others, 2 * number, bytes_of(chunk))
        messages = {member: exchange.message(member, 2 * number, chunk.nbytes) for member in exchange.others}
        mine = chunk[shares[exchange.me]]
        parts = [
            mine.copy() if member == exchange.me else messages[member].data.view(array.dtype)[shares[exchange.me]]
            for member in range(exchange.size)
        ]
        combine(op, parts, mine)
        del parts
        for message in messages.values():
            message.free()
        if not directly:
            exchange.publish(exchange.others, 2 * number + 1, bytes_of(mine))
            for member in exchange.others:
                exchange.take(member, 2 * number + 1, bytes_of(chunk[shares[member]]))


def reduce(exchange: Exchange, array: Array, op: ReduceOp, root: int) -> None:
    """Reduce the root's flat array over all ranks, in place."""
    for step, part in enumerate(_chunks(array.size, CHUNK_BYTES // array.itemsize)):
        if exchange.me != root:
            exchange.publish([root], step, bytes_of(array[part]))
        else:
            _combined(exchange, step, array[part], array[part].copy(), op)


def _combined(exchange: Exchange, step: int, out: Array, own: Array, op: ReduceOp) -> None:
    """Reduce the other ranks' messages of a step and this rank's own array into ``out``, in rank order."""
    messages = {member: exchange.message(member, step, out.nbytes) for member in exchange.others}
    members = range(exchange.size)
    combine(op, [own if member == exchange.me else messages[member].data.view(out.dtype) for member in members], out)
    for message in messages.values():
        message.free()


def reduce_scatter(exchange: Exchange, output: Array, inputs: Sequence[Array], op: ReduceOp) -> None:
    """Reduce the ranks' ``inputs`` elementwise and fill ``output`` with this rank's entry; all have the same size."""
    for step, part in enumerate(_chunks(output.size, CHUNK_BYTES // output.itemsize)):
        for member in exchange.others:
            exchange.publish([member], step, bytes_of(inputs[member][part]))
        own = inputs[exchange.me][part]
        _combined(exchange, step, output[part], own.copy() if np.may_share_memory(own, output) else own, op)


def reduce_scatter_row(exchange: Exchange, output: Array, whole: Array, op: ReduceOp) -> None:
    """Reduce ``whole`` over all ranks and fill ``output`` with this rank's chunk."""
    reduce_scatter(exchange, output, np.split(whole, exchange.size), op)


def gather(exchange: Exchange, outputs: Sequence[Array], array: Array, root: int) -> None:
    """Fill the root's ``outputs`` with each rank's array."""
    data = bytes_of(array)
    if exchange.me == root:
        np.copyto(bytes_of(outputs[root]), data)
    for step, part in enumerate(_chunks(data.size, CHUNK_BYTES)):
        if exchange.me != root:
            exchange.publish([root], step, data[part])
        else:
            for member in exchange.others:
                exchange.take(member, step, bytes_of(outputs[member])[part])


def scatter(exchange: Exchange, array: Array, inputs: Sequence[Array], root: int) -> None:
    """Fill each rank's array with its entry of the root's ``inputs``."""
    data = bytes_of(array)
    if exchange.me == root:
        np.copyto(data, bytes_of(inputs[root]))
    for step, part in enumerate(_chunks(data.size, CHUNK_BYTES)):
        if exchange.me != root:
            exchange.take(root, step, data[part])
        else:
            for member in exchange.others:
                exchange.publish([member], step, bytes_of(inputs[member])[part])


def all_to_all(exchange: Exchange, outputs: Sequence[Array], inputs: Sequence[Array]) -> None:
    """Send ``inputs[i]`` to rank i, and fill ``outputs`` with what each rank sent; sizes may differ between pairs."""
    sent, got = [bytes_of(array) for array in inputs], [bytes_of(array) for array in outputs]
    if sent[exchange.me].size != got[exchange.me].size:
        raise RuntimeError(_WRONG_SIZE.format(sent[exchange.me].size, got[exchange.me].size))
    np.copyto(got[exchange.me], sent[exchange.me])
    longest = max(data.size for data in (*sent, *got))
    for step, part in enumerate(_chunks(longest, CHUNK_BYTES)):
        for member in exchange.others:
            if sent[member][part].size:
                exchange.publish([member], step, sent[member][part])
        for member in exchange.others:
            if got[member][part].size:
                exchange.take(member, step, got[member][part])


def all_to_all_row(exchange: Exchange, output: Array, array: Array, taken: Sequence[int], given: Sequence[int]) -> None:
    """Split ``array`` into chunks of lengths ``given``, one for each rank, and write the received chunks, of lengths ``taken``, to
    ``output`` one after another."""
    all_to_all(exchange, *(np.split(row, np.cumsum(lengths)[:-1]) for row, lengths in ((output, taken), (array, given))))


def send(exchange: Exchange, member: int, array: Array, patient: bool) -> Callable[[], None]:
    """Send an array; ``patient`` limits the bytes in flight. Return a function that waits until all has been read."""
    mesh, to = exchange.mesh, exchange.ranks[member]
    data = bytes_of(array)
    blocks = []
    for part in _chunks(data.size, CHUNK_BYTES) if data.size else (slice(0, 0),):
        if patient:
            mesh.wait_room(to, exchange.seconds)
        blocks.append(mesh.send(to, exchange.key, data[part]))

    def read() -> None:
        for block in blocks:
            mesh.wait_read(block, to, exchange.seconds)

    return read


class Reception(Posting):
    """A receive posted for a flat array, from one rank or any (None); ``done`` is called with an error or with None."""

    def __init__(self, exchange: Exchange, member: int | None, array: Array, done: Callable[[RuntimeError | None], None]) -> None:
        self.key, self._ranks, self._done = exchange.key, exchange.ranks, done
        self.sources = tuple(exchange.ranks[source] for source in (exchange.others if member is None else (member,)))
        data = bytes_of(array)
        self._parts = [data[part] for part in _chunks(data.size, CHUNK_BYTES)] or [data]
        self._error: RuntimeError | None = None
        self.member = -1

    def accept(self, other: int, message: Message) -> bool:
        """Copy a message to the next chunk of the array; return whether it was the last message."""
        self.member = self._ranks.index(other)
        part = self._parts.pop(0)
        if message.data.nbytes == part.nbytes:
            np.copyto(part, message.data)
        else:
            self._error = RuntimeError(_WRONG_SIZE.format(message.data.nbytes, part.nbytes))
            self._parts.clear()
        message.free()
        return not self._parts

    def finish(self) -> None:
        """Call ``done`` with None: the array is filled."""
        self._done(self._error)

    def fail(self, error: RuntimeError) -> None:
        """Call ``done`` with the error: no message will come."""
        self._done(error)
