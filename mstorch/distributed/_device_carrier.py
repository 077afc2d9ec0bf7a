"""A group's operations on device tensors: started in MindSpore's stream order, completed by ``wait``."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial, wraps
from typing import Any

from .._src.backend import collectives
from .._src.backend.cast import cast
from .._src.backend.device_memory import is_dense, memory_of
from .._src.backend.raw import Raw
from .._src.core.device_failures import device_failure
from .._src.core.storage import is_all_of_device_memory
from .._src.core.tensor_base import put_raw, touch, value_of
from .._tensor import Tensor
from ..futures import Future, deferred
from ._types import ReduceOp
from ._work import Work


class _Told:
    """MindSpore's communication, with errors of the device's runtime as AcceleratorError, also where a call fails at once."""

    def __init__(self, communication: Any) -> None:
        self._communication = communication

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._communication, name)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                failure = device_failure(error)
                if failure is None:
                    raise
                raise failure from None

        setattr(self, name, call)
        return call



class _Row:
    """The elements of a device tensor as a flat array, ``raw``, which operations may replace."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw

    @property
    def flat(self) -> _Row:
        """Self: the row is already flat."""
        return self

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.raw.size)

    def divide(self, count: int) -> None:
        """Divide each element by ``count``."""
        self.raw = collectives.divided(self.raw, count)


class DeviceFlat(_Row):
    """A device tensor's elements as a flat row, bool as uint8. It aliases the memory if that is contiguous (gradient buckets, flat
    parameters) and ``kept`` is false; else it is a copy, which ``put_back`` writes back.
    """

    def __init__(self, tensor: Tensor, kept: bool = False) -> None:
        self._tensor, self._truths = tensor, tensor._ms_dtype.name == "bool"
        self._memory = None if kept or self._truths else _row_in_memory(tensor)
        if self._memory is not None:
            super().__init__(self._memory)
            return
        raw = cast(value_of(tensor), "uint8") if self._truths else value_of(tensor)
        super().__init__(collectives.row_of(raw) if raw.size else raw)

    def put_back(self) -> None:
        """Write a copy back to the tensor; if the memory was an alias, increment the tensor's version."""
        if self.raw is self._memory:
            self._tensor._ms_storage.forget()
            touch(self._tensor)
        elif self.size:
            raw = collectives.shaped(self.raw, self._tensor._ms_shape)
            put_raw(self._tensor, cast(raw, "bool") if self._truths else raw)


def _row_in_memory(tensor: Tensor) -> Raw | None:
    """Return the memory of a 1-d tensor that covers its whole storage, so that an operation may fill it; None for other tensors."""
    storage = tensor._ms_storage
    if len(tensor._ms_shape) != 1 or not is_all_of_device_memory(tensor) or storage.parameter is not None:
        return None
    base = storage.base
    if not base.size or not is_dense(base) or memory_of(base) is not base:
        return None
    return base if len(base.shape) == 1 else collectives.shaped(base, (-1,))


class Begun:
    """A started device operation, with the steps that ``wait`` has to run."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], Any]] = []

    def after(self, handle: Any, *steps: Callable[[], Any]) -> None:
        """Append waiting for ``handle``, then ``steps``, to the steps that ``finish`` runs."""
        self._steps += [handle.wait, *steps]

    def then(self, step: Callable[[], Any]) -> None:
        """Append a step that ``finish`` runs."""
        self._steps.append(step)

    def finish(self) -> None:
        """Run the pending steps, once."""
        steps, self._steps = self._steps, []
        for step in steps:
            step()


class DeviceWork(Work):
    """A device communication. After ``wait``, later work of the device is ordered behind it, but the host does not block."""

    def __init__(self, outputs: list[Any], begun: Begun, source: int = -1) -> None:
        super().__init__(outputs, source)
        self._begun, self._ending = begun, threading.RLock()

    def _until(self, timeout: timedelta) -> None:
        with self._ending:
            if not self._done:
                error: BaseException | None = None
                try:
                    self._begun.finish()
                except Exception as raised:  # noqa: BLE001 - whoever waits for the work gets it
                    error = device_failure(raised) or raised
                self._finish(error)

    def is_completed(self) -> bool:
        """Return True: MindSpore's handles cannot be queried, and later work of the device waits for the communication."""
        if not self._done:
            self._until(timedelta(0))
        return self._done

    def get_future(self) -> Future[Any]:
        """Return a future of the output tensors. It completes at once, because later device work waits for the transfer.

        In a hook of DistributedDataParallel it completes when it is waited for, so that backward continues during the transfer.
        """
        if deferred.pending is not None and not self._done:
            future: Future[Any] = Future()
            deferred.pending.append((future, self._filled))
            return future
        self._until(timedelta(0))
        return super().get_future()

    def _filled(self) -> Any:
        self.wait()
        return self._result


def _begin(work: Callable[[Any], None], outputs: list[Any], put: Sequence[Any], waits: bool, source: int = -1) -> DeviceWork:
    """Start an operation and, with ``waits``, complete it."""
    begun = Begun()
    work(begun)
    for row in put:
        begun.then(row.put_back)
    communication = DeviceWork(outputs, begun, source)
    if waits:
        communication.wait()
    return communication


def _checked(op: ReduceOp) -> str:
    """Return the name of a reduction; SUM for AVG, which HCCL lacks: the result is divided afterwards. Raise RuntimeError for others."""
    name = "SUM" if op is ReduceOp.AVG else op.name
    if name not in collectives.OPS:
        raise RuntimeError(f"HCCL has no ReduceOp.{op.name}")
    return name


class Carrier:
    """A group's operations on device rows, with the names and arguments of the host backend's.

    MindSpore orders the members of a group by rank, whatever their order in this group.
    """

    def __init__(self, communication: collectives.Communication, ranks: Sequence[int], me: int, handle: str | None) -> None:
        self._native: Any = _Told(communication)
        self._ranks, self._me, self._handle = list(ranks), me, handle
        self._order = sorted(range(len(self._ranks)), key=self._ranks.__getitem__)
        self._straight = self._order == list(range(len(self._ranks)))

    def begin(self, work: Callable[[Any], None], outputs: list[Any], put: Sequence[Any], waits: bool, source: int = -1) -> DeviceWork:
        """Start an operation and, with ``waits``, complete it."""
        return _begin(work, outputs, put, waits, source)

    def _ordered(self, parts: Sequence[Any]) -> list[Any]:
        """Return a list with an entry per member, reordered to MindSpore's order of ranks."""
        return [parts[member] for member in self._order]

    def _mean(self, begun: Begun, op: ReduceOp, rows: Sequence[_Row]) -> None:
        if op is ReduceOp.AVG:
            for row in rows:
                begun.then(partial(row.divide, len(self._ranks)))

    def _set_slices(self, whole: Raw, start: int, rows: Sequence[_Row]) -> None:
        """Set each row to its slice of ``whole``, the first one beginning at ``start``."""
        full = [row for row in rows if row.size]
        for row, part in zip(full, collectives.cut(whole, start, [row.size for row in full])):
            row.raw = part

    def all_reduce(self, begun: Begun, row: _Row, op: ReduceOp) -> None:
        """Reduce a row over all ranks, in place."""
        name = _checked(op)
        if row.size:
            begun.after(self._native.all_reduce(self._handle, row.raw, name))
            self._mean(begun, op, [row])

    def broadcast(self, begun: Begun, row: _Row, root: int) -> None:
        """Broadcast the root's flat tensor in place."""
        if row.size:
            begun.after(self._native.broadcast(self._handle, row.raw, self._ranks[root]))

    def all_gather(self, begun: Begun, outputs: Sequence[_Row], row: _Row) -> None:
        """Fill ``outputs`` with each rank's row."""
        if row.size:
            begun.after(self._native.all_gather_list(self._handle, [output.raw for output in self._ordered(outputs)], row.raw))

    def all_gather_row(self, begun: Begun, output: _Row, row: _Row) -> None:
        """Fill ``output`` with all ranks' rows, concatenated."""
        if self._straight and row.size:
            begun.after(self._native.all_gather(self._handle, output.raw, row.raw))
        elif row.size:
            parts = self._copies(row)
            self.all_gather(begun, parts, row)
            begun.then(lambda: setattr(output, "raw", collectives.joined([part.raw for part in parts])))

    def all_gather_pieces(self, begun: Begun, into: Sequence[Sequence[_Row]], given: Sequence[_Row]) -> None:
        """Fill ``into`` with each rank's rows; ranks may have different numbers of elements."""
        for places in by_dtype(given):
            taken = [[rows[place] for place in places] for rows in self._ordered(into)]
            longest = max(sum(row.size for row in rows) for rows in taken)
            if longest:
                own = collectives.padded([given[place].raw for place in places], longest)
                whole = collectives.empty(longest * len(into), own)
                begun.after(self._native.all_gather(self._handle, whole, own))
                for number, rows in enumerate(taken):
                    begun.then(partial(self._set_slices, whole, number * longest, rows))

    def reduce_scatter_pieces(self, begun: Begun, into: Sequence[_Row], given: Sequence[Sequence[_Row]], op: ReduceOp) -> None:
        """Reduce-scatter several rows: fill ``into`` with this rank's reduced rows; ranks' shards may differ in size."""
        name, longest = _checked(op), max(sum(row.size for row in rows) for rows in given)
        if longest:
            wholes = [collectives.padded([row.raw for row in rows], longest) for rows in self._ordered(given)]
            output = collectives.empty(longest, wholes[0])
            handle = self._native.reduce_scatter(self._handle, output, collectives.joined(wholes), name)
            begun.after(handle, partial(self._set_slices, output, 0, into))
            self._mean(begun, op, [row for row in into if row.size])

    def reduce(self, begun: Begun, row: _Row, op: ReduceOp, root: int) -> None:
        """Reduce the root's row over all ranks, in place."""
        name = _checked(op)
        if row.size:
            begun.after(self._native.reduce(self._handle, row.raw, name, self._ranks[root]))
            self._mean(begun, op, [row])

    def reduce_scatter(self, begun: Begun, output: _Row, inputs: Sequence[_Row], op: ReduceOp) -> None:
        """Reduce the ranks' ``inputs`` elementwise and fill ``output`` with this rank's entry."""
        name = _checked(op)
        if output.size:
            whole = collectives.joined([row.raw for row in self._ordered(inputs)])
            begun.after(self._native.reduce_scatter(self._handle, output.raw, whole, name))
            self._mean(begun, op, [output])

    def reduce_scatter_row(self, begun: Begun, output: _Row, whole: _Row, op: ReduceOp) -> None:
        """Reduce ``whole`` over all ranks and fill ``output`` with this rank's chunk."""
        name = _checked(op)
        if self._straight and output.size:
            begun.after(self._native.reduce_scatter(self._handle, output.raw, whole.raw, name))
            self._mean(begun, op, [output])
        elif output.size:
            self.reduce_scatter(begun, output, self._pieces(whole, [output.size] * len(self._ranks)), op)

    def gather(self, begun: Begun, outputs: Sequence[_Row], row: _Row, root: int) -> None:
        """Fill the root's ``outputs`` with each rank's row. HCCL has no gather, so this is an all_gather."""
        self.all_gather(begun, outputs if self._me == root else self._copies(row), row)

    def _copies(self, row: _Row) -> list[_Row]:
        """Return empty rows like ``row``, one per rank."""
        return [_Row(collectives.empty(row.size, row.raw)) for _ in self._ranks]

    def scatter(self, begun: Begun, row: _Row, inputs: Sequence[_Row], root: int) -> None:
        """Fill each rank's row with its entry of the root's ``inputs``."""
        if row.size:
            parts = self._ordered([part.raw for part in inputs]) if self._me == root else [row.raw] * len(self._ranks)
            begun.after(self._native.scatter(self._handle, row.raw, parts, self._ranks[root]))

    def all_to_all(self, begun: Begun, outputs: Sequence[_Row], inputs: Sequence[_Row]) -> None:
        """Send ``inputs[i]`` to rank i, and fill ``outputs`` with what each rank sent."""
        taken, given = self._ordered(outputs), self._ordered(inputs)
        flat = collectives.joined([row.raw for row in given])
        output = collectives.empty(sum(row.size for row in taken), flat)
        handle = self._native.all_to_all(self._handle, output, flat, [row.size for row in taken], [row.size for row in given])
        begun.after(handle, partial(self._set_slices, output, 0, taken))

    def all_to_all_row(self, begun: Begun, output: _Row, row: _Row, taken: Sequence[int], given: Sequence[int]) -> None:
        """Split ``row`` into chunks of lengths ``given``, one for each rank, and write the received chunks, of lengths ``taken``, to
        ``output`` one after another."""
        outputs = self._pieces(output, taken)
        self.all_to_all(begun, outputs, self._pieces(row, given))
        if output.size:
            begun.then(lambda: setattr(output, "raw", collectives.joined([part.raw for part in outputs])))

    def _pieces(self, row: _Row, lengths: Sequence[int]) -> list[_Row]:
        """Return the row split into rows of the given lengths, for reading only."""
        return [_Row(part) for part in collectives.cut(row.raw, 0, lengths)]

    def send(self, begun: Begun, row: _Row, member: int) -> None:
        """Send a row to a member of the group."""
        if row.size:
            begun.after(self._native.send(self._handle, row.raw, self._ranks[member]))

    def recv(self, begun: Begun, row: _Row, member: int) -> None:
        """Receive a row from a member of the group."""
        if row.size:
            begun.after(self._native.receive(self._handle, row.raw, self._ranks[member]))

    def together(self, calls: Sequence[tuple[str, Any, int]]) -> DeviceWork:
        """Start several sends and receives ("isend", "irecv") as one batch, so that none blocks another."""
        rows = [(name, DeviceFlat(tensor), member) for name, tensor, member in calls]
        full = [(name, row.raw, self._ranks[member]) for name, row, member in rows if row.size]

        def work(begun: Begun) -> None:
            if full:
                begun.after(self._native.together(self._handle, full))

        return self.begin(work, [tensor for _, tensor, _ in calls], [row for name, row, _ in rows if name == "irecv"], False)

    def barrier(self) -> None:
        """Wait until the devices of all ranks are synchronized."""
        self._native.barrier(self._handle)


class Alone:
    """The collective operations of a group with one rank: they copy, or do nothing."""

    def begin(self, work: Callable[[Any], None], outputs: list[Any], put: Sequence[Any], waits: bool, source: int = -1) -> DeviceWork:
        """Run an operation immediately."""
        return _begin(work, outputs, put, True, source)

    def all_reduce(self, begun: Begun, row: _Row, op: ReduceOp) -> None:
        """Raise if HCCL lacks the reduction; the row is left unchanged."""
        _checked(op)

    def broadcast(self, begun: Begun, row: _Row, root: int) -> None:
        """Do nothing: there is one rank."""

    def all_gather(self, begun: Begun, outputs: Sequence[_Row], row: _Row) -> None:
        """Copy the row to the only output."""
        outputs[0].raw = row.raw

    def all_gather_row(self, begun: Begun, output: _Row, row: _Row) -> None:
        """Copy the row to the output."""
        output.raw = row.raw

    def all_gather_pieces(self, begun: Begun, into: Sequence[Sequence[_Row]], given: Sequence[_Row]) -> None:
        """Copy the rows to the outputs."""
        for output, row in zip(into[0], given):
            output.raw = row.raw

    def reduce_scatter_pieces(self, begun: Begun, into: Sequence[_Row], given: Sequence[Sequence[_Row]], op: ReduceOp) -> None:
        """Raise if HCCL lacks the reduction, and copy the rows to the outputs."""
        _checked(op)
        self.all_gather_pieces(begun, [into], given[0])

    def reduce(self, begun: Begun, row: _Row, op: ReduceOp, root: int) -> None:
        """Raise if HCCL lacks the reduction; the row is left unchanged."""
        _checked(op)

    def reduce_scatter(self, begun: Begun, output: _Row, inputs: Sequence[_Row], op: ReduceOp) -> None:
        """Raise if HCCL lacks the reduction, and copy the only input to the output."""
        _checked(op)
        output.raw = inputs[0].raw

    def reduce_scatter_row(self, begun: Begun, output: _Row, whole: _Row, op: ReduceOp) -> None:
        """Copy ``whole`` to the output."""
        self.reduce_scatter(begun, output, [whole], op)

    def gather(self, begun: Begun, outputs: Sequence[_Row], row: _Row, root: int) -> None:
        """Copy the row to the only output."""
        outputs[0].raw = row.raw

    def scatter(self, begun: Begun, row: _Row, inputs: Sequence[_Row], root: int) -> None:
        """Copy the only input to the row."""
        row.raw = inputs[0].raw

    def all_to_all(self, begun: Begun, outputs: Sequence[_Row], inputs: Sequence[_Row]) -> None:
        """Copy the only input to the only output."""
        outputs[0].raw = inputs[0].raw

    def all_to_all_row(self, begun: Begun, output: _Row, row: _Row, taken: Sequence[int], given: Sequence[int]) -> None:
        """Copy the row to the output."""
        output.raw = row.raw

    def barrier(self) -> None:
        """Do nothing: there is one rank."""


def by_dtype(rows: Sequence[_Row]) -> list[list[int]]:
    """Return lists of row indices, one list per dtype."""
    found: dict[Any, list[int]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row.raw.dtype, []).append(number)
    return list(found.values())
