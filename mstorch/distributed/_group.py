"""ProcessGroup: the collectives of a group of ranks, with the names and arguments of torch's C++ bindings."""
from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from mstorch import Tensor

from .._src.core.formats import strided
from .._src.core.modes import modes
from .._src.core.storage import Storage
from .._src.core.tensor_base import array_of
from .._src.hook import not_yet
from . import _host_backend as host
from ._backends import WithBackends
from ._calls import call, words
from ._device_backend import carrier_of, check_carried, check_product, flat_of_device, is_joined
from ._device_carrier import Alone, Begun, Carrier
from ._mesh import Mesh
from ._stores import Store
from ._types import BackendConfig, ReduceOp
from ._work import Runner, Work

_WAIT = SimpleNamespace(asyncOp=False, timeout=None)
_CARRIED = {"float16", "bfloat16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"}
_TITLES = {"int64": "Long", "int32": "Int", "int8": "Char", "uint8": "Byte", "bool": "Bool"}


class _Objects(threading.local):
    depth = 0


_objects = _Objects()  # thread-local: the bytes of pickled objects are sent by the host backend, whatever the group's backend is


def by_the_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate an object collective so that it sends its pickled bytes through the host backend."""

    @functools.wraps(function)
    def carried(*args: Any, **kwargs: Any) -> Any:
        _objects.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            _objects.depth -= 1

    return carried


class _Flat:
    """A tensor's elements as a flat array: a view of its memory, or a copy that ``put_back`` writes back.

    With ``kept``, writes without ``put_back`` must not reach the tensor.
    """

    flat: Any

    def __new__(cls, tensor: Any, kept: bool = False) -> Any:
        """Return a DeviceFlat for a device tensor."""
        return object.__new__(cls) if tensor._ms_storage.__class__ is Storage else flat_of_device(tensor, kept)

    def __init__(self, tensor: Tensor, kept: bool = False) -> None:
        self._ms_array = array_of(tensor)
        self.flat = np.ascontiguousarray(self._ms_array).reshape(-1)
        self._copied = bool(self.flat.size) and not np.may_share_memory(self.flat, self._ms_array)

    def put_back(self) -> None:
        """Write a copy back to the tensor."""
        if self._copied:
            self._ms_array[...] = self.flat.reshape(self._ms_array.shape)


class ProcessGroup(WithBackends):
    """Ranks that communicate, made by ``init_process_group`` and ``new_group``; every rank has to call each operation.

    Operations take lists of tensors, work in place, and return a Work. They start in the order of the calls.
    """

    def __init__(self, *args: Any) -> None:
        raise TypeError("mstorch: a ProcessGroup is made by torch.distributed.init_process_group and new_group")

    _mesh: Mesh | None
    bound_device_id: Any = None

    @classmethod
    def _made(
        cls, mesh: Mesh | None, store: Store, ranks: Sequence[int], me: int, backend: str, name: str, timeout: timedelta, desc: str
    ) -> ProcessGroup:
        group = object.__new__(cls)
        group._mesh, group._store, group._ranks, group._me = mesh, store, list(ranks), me
        group._backend, group._config = backend, BackendConfig(backend)
        group._timeout, group._sequence = timeout, 0
        group.group_name, group.group_desc = name, desc
        group._runner = Runner(f"group {name}")
        return group

    _store: Store
    _ranks: list[int]
    _me: int
    _backend: Any
    _config: BackendConfig
    _timeout: timedelta
    _sequence: int
    _runner: Runner
    group_name: str
    group_desc: str

    # Properties

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self._me

    def size(self) -> int:
        """Return the number of ranks."""
        return len(self._ranks)

    def name(self) -> str:
        """Return the name of the backend."""
        return str(self._backend_for_host())

    def _backend_for_host(self) -> str | None:
        return self._config.get_device_backend_map().get("cpu", self._backend)

    def get_group_store(self) -> Store:
        """Return the store used for the group's rendezvous."""
        return self._store

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the timeout of later operations."""
        self._timeout = timeout

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def _set_group_desc(self, desc: str) -> None:
        self.group_desc = desc

    def shutdown(self) -> None:
        """Shut down this process's side of the group after pending operations have completed."""
        self._runner.end()
        if self._mesh is not None and self.group_desc == "default_pg":
            self._mesh.close()

    abort = shutdown

    # Running operations

    def _check(self, what: str, *tensors: Tensor) -> None:
        """Raise NotImplementedError or RuntimeError for tensors that cannot be transferred."""
        if modes.native is not None:
            raise NotImplementedError(f"mstorch: torch.distributed.{what} in a captured graph {not_yet()}")
        for tensor in tensors:
            if tensor.layout is not strided:
                raise NotImplementedError(f"mstorch: torch.distributed.{what} of sparse tensors {not_yet()}")
            kind = tensor.device.type
            if kind not in self._config.get_device_backend_map() and not (kind == "cpu" and _objects.depth):
                raise RuntimeError(f"No backend type associated with device type {kind}")
            if kind != "cpu":
                check_carried(what, tensor)
            elif tensor._ms_dtype.name not in _CARRIED:
                raise RuntimeError("Invalid scalar type")

    def _check_op(self, op: ReduceOp, tensor: Tensor) -> ReduceOp:
        if not isinstance(op, ReduceOp):
            raise TypeError(f"mstorch: a torch.distributed.ReduceOp is needed, got {op!r}")
        if op is ReduceOp.PREMUL_SUM:
            raise TypeError("(): incompatible function arguments. PREMUL_SUM needs a factor and the NCCL backend.")
        kind = tensor._ms_dtype
        if op is ReduceOp.AVG and kind.is_integral:
            raise RuntimeError(f"result type Float can't be cast to the desired output type {_TITLES[kind.name]}")
        if op.name.startswith("B") and not kind.is_integral:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
        check_product(op, tensor)
        return op

    def _backend_for(self, tensors: Sequence[Any]) -> Any:
        """Return the backend for the tensors: ``host`` for arrays, or the group's Carrier for device tensors."""
        return host if not tensors or tensors[0]._ms_storage.__class__ is Storage else carrier_of(self)

    def _exchange(self, key: bytes, timeout: timedelta | None, told: str = "") -> host.Exchange:
        seconds = (self._timeout if timeout is None or timeout.total_seconds() < 0 else timeout).total_seconds()
        assert self._mesh is not None
        key = self.group_name.encode() + key
        return host.Exchange(self._mesh, self._ranks, self._me, key, seconds, call(key, told))

    def _start(
        self, by: Alone | Carrier | ModuleType, work: Callable[[Any], None], outputs: Sequence[Any], put: Sequence[_Flat], opts: Any,
        timeout: timedelta | None = None, *, told: str,
    ) -> Work:  # fmt: skip
        """Run an operation: on a device, in stream order; on the host, at once, or in the group's thread if the operation may block.
        ``told`` are the words of the call, which must be the same on all ranks."""
        self._sequence += 1
        if by is not host:
            return by.begin(work, list(outputs), put, not getattr(opts, "asyncOp", True))
        exchange = self._exchange(b"/%d/" % self._sequence, getattr(opts, "timeout", timeout), told)

        def run() -> None:
            exchange.begin()
            work(exchange)
            for flat in put:
                flat.put_back()
            exchange.end()

        if getattr(opts, "asyncOp", True):
            return self._runner.submit(run, list(outputs))
        self._runner.run(run)
        return _ended(outputs)

    # Collectives

    def allreduce(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Reduce a tensor over all ranks, in place. ``opts`` is a ReduceOp, or AllreduceOptions."""
        tensors = _listed(tensors)
        op = _op_of(opts)
        self._check("all_reduce", *tensors)
        for tensor in tensors:
            op = self._check_op(op, tensor)
        flats, by = [_Flat(tensor) for tensor in tensors], self._backend_for(tensors)

        def work(exchange: Begun | host.Exchange) -> None:
            for number, flat in enumerate(flats):
                by.all_reduce(_numbered(exchange, number), flat.flat, op)

        return self._start(by, work, tensors, flats, opts, timeout, told=words("ALLREDUCE", tensors, op.name))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Work:
        """Call ``allreduce`` on several tensors."""
        return self.allreduce(tensors, opts)

    def broadcast(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None, root: int = 0) -> Work:
        """Broadcast the root's tensor into ``tensors``."""
        tensors = _listed(tensors)
        source = opts if isinstance(opts, int) else getattr(opts, "rootRank", root)
        self._check("broadcast", *tensors)
        flats, by = [_Flat(tensor) for tensor in tensors], self._backend_for(tensors)

        def work(exchange: Begun | host.Exchange) -> None:
            for number, flat in enumerate(flats):
                by.broadcast(_numbered(exchange, number), flat.flat, source)

        put = flats if self._me != source else ()
        return self._start(by, work, tensors, put, opts, timeout, told=words("BROADCAST", tensors, f"root {source}"))

    def allgather(
        self, output_lists: Sequence[list[Tensor]], inputs: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None
    ) -> Work:
        """Fill a list of tensors with each rank's."""
        inputs = _listed(inputs)
        if output_lists and isinstance(output_lists[0], Tensor):
            output_lists = [output_lists]
        for number, outputs in enumerate(output_lists):
            if len(outputs) != self.size():
                raise RuntimeError(
                    f"ProcessGroupGloo::allgather: invalid output tensor list at index {number} (expected length {self.size()}, "
                    f"got {len(outputs)})"
                )
            self._check("all_gather", *outputs, inputs[number])
            for place, output in enumerate(outputs):
                if output._ms_shape != inputs[number]._ms_shape:
                    raise RuntimeError(
                        f"ProcessGroupGloo::allgather: invalid tensor size at index {place} (expected "
                        f"{_sizes(inputs[number])}, got {_sizes(output)})"
                    )
        given = [_Flat(tensor) for tensor in inputs]
        taken, by = [[_Flat(tensor) for tensor in outputs] for outputs in output_lists], self._backend_for(inputs)

        def work(exchange: Begun | host.Exchange) -> None:
            for number, (into, flat) in enumerate(zip(taken, given)):
                by.all_gather(_numbered(exchange, number), [one.flat for one in into], flat.flat)

        put = [flat for into in taken for flat in into]
        return self._start(by, work, output_lists, put, opts, timeout, told=words("ALLGATHER", inputs))

    def allgather_coalesced(self, output_lists: Any, inputs: Any, opts: Any = None) -> Work:
        """Gather several tensors from all ranks; ``output_lists`` has a list for each rank."""
        return self.allgather([list(column) for column in zip(*output_lists)], inputs, opts)

    def _allgather_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Fill ``output`` with all ranks' inputs, concatenated."""
        if output._ms_dtype is not input._ms_dtype:
            raise TypeError("output tensor must have the same type as input tensor")
        if output.numel() != input.numel() * self.size():
            raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
        self._check("all_gather_single", output, input)
        taken, given, by = _Flat(output), _Flat(input), self._backend_for([output])
        told = words("_ALLGATHER_BASE", [input])
        return self._start(by, lambda exchange: by.all_gather_row(exchange, taken.flat, given.flat), [output], [taken], opts, told=told)

    all_gather_single = _allgather_base

    def _allgather_pieces(self, outputs: Sequence[Sequence[Any]], inputs: Sequence[Any]) -> Work:
        """Start to gather contiguous tensors from all ranks without one large buffer; shapes may differ between ranks."""
        self._check("all_gather", *inputs, *(tensor for part in outputs for tensor in part))
        into, own = [[_Flat(tensor) for tensor in part] for part in outputs], [_Flat(tensor) for tensor in inputs]
        by = self._backend_for(inputs)
        put = [flat for part in into for flat in part]
        told = words("ALLGATHER_PIECES", ())  # ranks have pieces of different sizes
        return self._start(by, lambda exchange: by.all_gather_pieces(exchange, into, own), list(outputs), put, None, told=told)

    def _reduce_scatter_pieces(self, outputs: Sequence[Any], inputs: Sequence[Sequence[Any]], op: ReduceOp) -> Work:
        """Reduce-scatter contiguous tensors of one dtype: fill ``outputs`` with this rank's shards."""
        if not outputs:
            return self.barrier(_WAIT)
        self._check("reduce_scatter", *outputs)
        op, by = self._check_op(op, outputs[0]), self._backend_for(outputs)
        into, given = [_Flat(tensor) for tensor in outputs], [[_Flat(tensor) for tensor in part] for part in inputs]
        told = words("REDUCE_SCATTER_PIECES", (), op.name)
        return self._start(by, lambda exchange: by.reduce_scatter_pieces(exchange, into, given, op), list(outputs), into, _WAIT, told=told)

    def reduce(self, tensors: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None, root: int = 0, op: Any = None) -> Work:
        """Reduce the root's tensor over all ranks, in place."""
        tensors = _listed(tensors)
        op, root = op if op is not None else _op_of(opts), getattr(opts, "rootRank", root)
        self._check("reduce", *tensors)
        op = self._check_op(op, tensors[0])
        flat, by = _Flat(tensors[0], kept=self._me != root), self._backend_for(tensors)
        put = [flat] if self._me == root else []
        told = words("REDUCE", tensors, op.name, f"root {root}")
        return self._start(by, lambda exchange: by.reduce(exchange, flat.flat, op, root), tensors, put, opts, timeout, told=told)

    def reduce_scatter(
        self, outputs: Sequence[Tensor], input_lists: Sequence[list[Tensor]], opts: Any = None, timeout: timedelta | None = None
    ) -> Work:
        """Reduce the ranks' lists elementwise and fill the output with this rank's entry."""
        output, inputs = _listed(outputs)[0], input_lists[0] if isinstance(input_lists[0], (list, tuple)) else input_lists
        self._check("reduce_scatter", output, *inputs)
        op = self._check_op(_op_of(opts), output)
        if len(inputs) != self.size():
            raise RuntimeError("invalid input tensor list size, must be world size")
        if any(given.numel() != output.numel() for given in inputs):
            raise RuntimeError(
                f"ProcessGroupGloo::reduce_scatter: invalid tensor size at index 0 (expected {_sizes(output)}, got {_sizes(inputs[0])})"
            )
        taken, given, by = _Flat(output), [_Flat(tensor) for tensor in inputs], self._backend_for([output])

        def work(exchange: Begun | host.Exchange) -> None:
            by.reduce_scatter(exchange, taken.flat, [flat.flat for flat in given], op)

        return self._start(by, work, [output], [taken], opts, timeout, told=words("REDUCE_SCATTER", [output], op.name))

    def _reduce_scatter_base(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Reduce ``input`` over all ranks and fill ``output`` with this rank's chunk."""
        if output._ms_dtype is not input._ms_dtype:
            raise TypeError("input tensor must be the same type as the output tensor.")
        if input.numel() != output.numel() * self.size():
            raise RuntimeError("input tensor must be the same size as output size times world size")
        self._check("reduce_scatter_single", output, input)
        op = self._check_op(_op_of(opts), output)
        taken, given, by = _Flat(output), _Flat(input), self._backend_for([output])
        told = words("_REDUCE_SCATTER_BASE", [output], op.name)
        work: Any = lambda exchange: by.reduce_scatter_row(exchange, taken.flat, given.flat, op)
        return self._start(by, work, [output], [taken], opts, told=told)

    reduce_scatter_single = _reduce_scatter_base

    def gather(
        self, output_lists: Sequence[list[Tensor]], inputs: Sequence[Tensor], opts: Any = None, timeout: timedelta | None = None,
        root: int = 0
    ) -> Work:
        """Fill the root's list of tensors with each rank's."""
        inputs, root = _listed(inputs), getattr(opts, "rootRank", root)
        outputs = output_lists[0] if output_lists else []
        if self._me == root and len(outputs) != self.size():
            raise RuntimeError(f"ProcessGroupGloo::gather: Incorrect output list size {len(outputs)}. Output list size should be {self.size()}, same as size of the process group.")  # fmt: skip  # noqa: E501
        self._check("gather", *outputs, *inputs)
        given, taken, by = _Flat(inputs[0]), [_Flat(tensor) for tensor in outputs], self._backend_for(inputs)
        if any(flat.flat.size != given.flat.size for flat in taken):
            raise RuntimeError(_wrong_size("gather", inputs[0], outputs[0]))

        def work(exchange: Begun | host.Exchange) -> None:
            by.gather(exchange, [flat.flat for flat in taken], given.flat, root)

        return self._start(by, work, [outputs], taken, opts, timeout, told=words("GATHER", inputs, f"root {root}"))

    def scatter(
        self, outputs: Sequence[Tensor], input_lists: Sequence[list[Tensor]], opts: Any = None, timeout: timedelta | None = None,
        root: int = 0
    ) -> Work:
        """Fill each rank's tensor with its entry of the root's list."""
        outputs, root = _listed(outputs), getattr(opts, "rootRank", root)
        inputs = input_lists[0] if input_lists else []
        if self._me == root and len(inputs) != self.size():
            raise RuntimeError(f"ProcessGroupGloo::scatter: Incorrect input list size {len(inputs)}. Input list size should be {self.size()}, same as size of the process group.")  # fmt: skip  # noqa: E501
        self._check("scatter", *outputs, *inputs)
        taken, given, by = _Flat(outputs[0]), [_Flat(tensor) for tensor in inputs], self._backend_for(outputs)
        if any(flat.flat.size != taken.flat.size for flat in given):
            raise RuntimeError(_wrong_size("scatter", outputs[0], inputs[0]))

        def work(exchange: Begun | host.Exchange) -> None:
            by.scatter(exchange, taken.flat, [flat.flat for flat in given], root)

        return self._start(by, work, outputs, [taken], opts, timeout, told=words("SCATTER", outputs, f"root {root}"))

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], opts: Any = None) -> Work:
        """Send ``inputs[i]`` to rank i, and fill ``outputs`` with what each rank sent."""
        if len(outputs) != self.size() or len(inputs) != self.size():
            raise RuntimeError(f"Tensor list input to scatter/gather must match number of collective participants but got {len(inputs)} inputs with number of participants {self.size()}")  # fmt: skip  # noqa: E501
        self._check("all_to_all", *outputs, *inputs)
        taken, given, by = [_Flat(tensor) for tensor in outputs], [_Flat(tensor) for tensor in inputs], self._backend_for(outputs)

        def work(exchange: Begun | host.Exchange) -> None:
            by.all_to_all(exchange, [flat.flat for flat in taken], [flat.flat for flat in given])

        return self._start(by, work, outputs, taken, opts, told=words("ALLTOALL", (), outputs[0].dtype))

    def alltoall_base(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int], opts: Any = None
    ) -> Work:
        """Split ``input`` along dimension 0, send one chunk to each rank, and concatenate the received chunks in ``output``."""
        self._check("all_to_all_single", output, input)
        lengths = [_lengths(tensor, sizes, self.size()) for tensor, sizes in ((output, output_sizes), (input, input_sizes))]
        taken, given, by = _Flat(output), _Flat(input), self._backend_for([output])
        told = words("ALLTOALL_BASE", (), output.dtype)
        work: Any = lambda exchange: by.all_to_all_row(exchange, taken.flat, given.flat, *lengths)
        return self._start(by, work, [output], [taken], opts, told=told)

    all_to_all_single = alltoall_base

    def barrier(self, opts: Any = None, timeout: timedelta | None = None) -> Work:
        """Wait for all ranks, and for the work queued on their devices."""
        work = self._start(host, host.barrier, [], [], opts, timeout, told="BARRIER()")
        if is_joined(self) and not getattr(opts, "asyncOp", True):
            carrier_of(self).barrier()
        return work

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """Wait for all ranks; rank 0 raises an error that names the late ones."""
        limit = self._timeout if timeout is None else timeout
        self._sequence += 1
        key = b"/%d/" % self._sequence
        nothing, milliseconds = np.empty(0, np.uint8), f"{limit.total_seconds() * 1000:.0f} ms"
        if self._me:
            exchange = self._exchange(key, limit)
            exchange.publish([0], 0, nothing)
            try:
                exchange.take(0, 1, nothing)
            except RuntimeError as error:
                raise RuntimeError(
                    f"Rank {self._ranks[self._me]} successfully reached monitoredBarrier, but received errors while waiting for "
                    f"send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n{error}"
                ) from None
            return
        deadline, late = time.monotonic() + limit.total_seconds(), []
        for member in range(1, self.size()):
            try:
                left = timedelta(seconds=max(deadline - time.monotonic(), 0.01))
                self._exchange(key, left).take(member, 0, nothing)
            except RuntimeError as error:
                late.append(member)
                if not wait_all_ranks:
                    raise RuntimeError(
                        f"[Rank 0]: Rank {member} failed to pass monitoredBarrier in {milliseconds}\n Original exception: \n{error}"
                    ) from None
        if late:
            names = ", ".join(map(str, late))
            raise RuntimeError(f"[Rank 0]: Ranks {names} failed to pass monitoredBarrier in {milliseconds}")
        self._exchange(key, limit).publish(range(1, self.size()), 1, nothing)

    # Point to point

    def send(self, tensors: Sequence[Tensor], dst: int, tag: int, patient: bool = False) -> Work:
        """Send a tensor to a rank; the work completes when the tensor has been read."""
        tensor = _listed(tensors)[0]
        self._check("send", tensor)
        by = self._backend_for([tensor])
        if by is not host:
            row = _Flat(tensor)
            return by.begin(lambda begun: by.send(begun, row, dst), [], [], False)
        exchange = self._exchange(b"/to %d tag %d/" % (dst, tag), None)
        read = host.send(exchange, dst, _Flat(tensor).flat, patient)
        return _Sending(read)

    def recv(self, tensors: Sequence[Tensor], src: int | None, tag: int) -> Work:
        """Receive a tensor from a rank, or from any (None)."""
        tensor = _listed(tensors)[0]
        self._check("recv", tensor)
        by = self._backend_for([tensor])
        if by is not host:
            if src is None:
                raise RuntimeError("HCCL receives from a named process: give src")
            row = _Flat(tensor)
            return by.begin(lambda begun: by.recv(begun, row, src), [tensor], [row], False, src)
        exchange = self._exchange(b"/to %d tag %d/" % (self._me, tag), None)
        return _Receiving(exchange, src, tensor)

    def send_and_recv(self, calls: Sequence[tuple[str, Any, int]]) -> list[Work] | None:
        """Start a batch of sends and receives ("isend", "irecv") of device tensors; return None for host tensors."""
        self._check("batch_isend_irecv", *(tensor for _, tensor, _ in calls))
        by = self._backend_for([calls[0][1]])
        return None if by is host else [by.together(calls)]

    def recv_anysource(self, tensors: Sequence[Tensor], tag: int) -> Work:
        """Receive a tensor from any rank."""
        return self.recv(tensors, None, tag)


def _ended(outputs: Sequence[Any] = ()) -> Work:
    """Return a completed Work."""
    done = Work(list(outputs))
    done._finish()
    return done


class _Sending(Work):
    """The Work of a send; it completes when the tensor has been read."""

    def __init__(self, read: Callable[[], None]) -> None:
        super().__init__([])
        self._read: Callable[[], None] | None = read

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Return True when the tensor has been read. Raise RuntimeError if the receiver is gone."""
        if self._read is not None:
            try:
                self._read()
                self._finish()
            except RuntimeError as error:
                self._finish(error)
            self._read = None
        return super().wait(timeout)

    def is_completed(self) -> bool:
        """Return True: the data were copied, so the tensor may be changed."""
        return True


class _Receiving(Work):
    """The Work of a receive; the tensor is filled as soon as its message arrives."""

    def __init__(self, exchange: host.Exchange, member: int | None, tensor: Tensor) -> None:
        super().__init__([tensor])
        self._seconds = exchange.seconds
        self._flat = _Flat(tensor)
        self._reception = host.Reception(exchange, member, self._flat.flat, self._received)
        exchange.mesh.post(self._reception)

    def _received(self, error: RuntimeError | None) -> None:
        self._source = self._reception.member
        if error is None:
            self._flat.put_back()
        self._finish(error)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Return True when the tensor is filled. Raise RuntimeError if the sender is gone, or on a timeout."""
        seconds = timeout.total_seconds() or self._seconds
        with self._lock:
            if not self._changed.wait_for(lambda: self._done, seconds):
                raise RuntimeError(f"Timed out waiting {seconds * 1000:.0f}ms for recv operation to complete")
        return super().wait()


def _listed(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def _op_of(opts: Any) -> ReduceOp:
    if opts is None:
        return ReduceOp.SUM
    return getattr(opts, "reduceOp", opts)


def _numbered(exchange: Begun | host.Exchange, number: int) -> Any:
    """Return the exchange for tensor ``number`` of several; a device exchange needs no number."""
    if exchange.__class__ is not host.Exchange:
        return exchange
    return host.Exchange(exchange.mesh, exchange.ranks, exchange.me, exchange.key + b"%d/" % number, exchange.seconds, exchange.told)


def _sizes(tensor: Tensor) -> str:
    return str(list(tensor._ms_shape))


def _wrong_size(what: str, wanted: Any, given: Any) -> str:
    return f"ProcessGroupGloo::{what}: invalid tensor size at index 0 (expected {_sizes(wanted)}, got {_sizes(given)})"


def _lengths(tensor: Tensor, sizes: Any, members: int) -> list[int]:
    """Return the length of each rank's chunk along dimension 0: ``sizes``, or equal lengths if there are none. Raise RuntimeError if they
    do not fit the tensor."""
    length = tensor._ms_shape[0] if tensor._ms_shape else 1
    if not sizes:
        if length % members:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [length // members] * members
    if len(sizes) != members:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    row = tensor.numel() // length if length else 0
    return [size * row for size in sizes]
