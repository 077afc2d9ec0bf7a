"""The memory that tensors and their views share: bytes on the host, or the current value on a device and in a capture."""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .._backend import tape
from .._backend.raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from .._backend.table import kernel
from .ends import ENDS
from .modes import modes

_clone, _conj, _neg = kernel("clone"), kernel("conj"), kernel("neg")


class Storage:
    """Host memory. A tensor is a window (offset, strides, shape, dtype) on it; a write goes into the memory.

    ``version`` counts writes. ``moved`` says that the memory was exchanged for another (``resize_``, ``share_memory_``), so
    that windows may not be kept. ``parameter`` is the mindspore.Parameter over the same memory, once MindSpore's side asked
    for one.
    """

    __slots__ = ("_source", "_memory", "version", "moved", "shared", "parameter", "pinned", "__weakref__")

    def __init__(self, source: np.ndarray) -> None:
        self._source: np.ndarray | None = source  # C-contiguous, of any dtype
        self._memory: np.ndarray | None = None
        self.version = 0
        self.moved = False
        self.shared: Any = None  # what keeps memory alive that other processes see
        self.parameter: Any = None
        self.pinned = False

    @property
    def memory(self) -> np.ndarray:
        """The bytes, a flat uint8 array."""
        found = self._memory
        if found is None:
            source = self._source
            assert source is not None
            found = self._memory = source.reshape(-1).view(np.uint8)
            self._source = None
        return found

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.memory.nbytes

    def share_with(self, parameter: Any) -> None:
        """Let a mindspore.Parameter over this memory be known; MindSpore may give it other memory, which is followed."""
        self.parameter = parameter
        self.moved = True

    def follow(self) -> None:
        """Take the memory that the parameter has now."""
        array = self.parameter.asnumpy()
        if array.__array_interface__["data"][0] != self.memory.__array_interface__["data"][0]:
            self._memory, self._source = array.reshape(-1).view(np.uint8), None

    def resize(self, size: int) -> None:
        """Another size in bytes; what is there stays, new bytes are zeros."""
        old, memory = self.memory, np.zeros(size, np.uint8)
        kept = min(size, old.nbytes)
        memory[:kept] = old[:kept]
        self.exchange(memory)

    def exchange(self, memory: np.ndarray) -> None:
        """Take other memory, uint8 and flat; tensors over this storage show it from now on."""
        self._memory, self._source = memory, None
        self.moved = True
        self.parameter = None


FIXED: weakref.WeakSet[Storage] = weakref.WeakSet()  # over memory of others, which cannot grow


def refuse_growth(storage: Any) -> None:
    """Raise torch's error if the storage is over memory that is not its own."""
    if storage in FIXED:
        raise RuntimeError("Trying to resize storage that is not resizable")


class Absent:
    """No memory: what tensors on the meta device have, and a wrapper subclass, which keeps its elements elsewhere."""

    __slots__ = ("device", "version", "nbytes", "__weakref__")

    moved = False
    shared = None
    parameter = None
    pinned = False

    def __init__(self, device: Any, nbytes: int = 0) -> None:
        self.device = device
        self.version = 0
        self.nbytes = nbytes

    def resize(self, size: int) -> None:
        """Another size in bytes."""
        self.nbytes = size

    def copied(self) -> Absent:
        """Another one of the same size."""
        return Absent(self.device, self.nbytes)

    @property
    def memory(self) -> np.ndarray:
        """Raises RuntimeError."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class Value:
    """The current value of a tensor on a device or in a capture; a write computes a new value and takes its place.

    The elements of ``raw`` in row-major order are what offsets and strides speak of. ``shadow`` is the array that integers were
    made of, until they are written to: positions are read from it, without a transfer.
    """

    __slots__ = ("raw", "version", "writes", "shadow", "__weakref__")

    moved = False
    shared = None
    parameter = None

    def __init__(self, raw: Raw, shadow: np.ndarray | None = None) -> None:
        self.raw = raw
        self.version = 0  # what autograd asks
        self.writes = 0  # how often another value took the place, whoever counts it
        self.shadow = shadow

    @property
    def memory(self) -> np.ndarray:
        """A copy of the bytes, a flat uint8 array."""
        return np.array(self.raw.asnumpy(), order="C").reshape(-1).view(np.uint8)

    @property
    def address(self) -> int:
        """A number that tells storages apart, as addresses do; MindSpore tells none, and a write takes another place."""
        return id(self) << 12

    def resize(self, size: int) -> None:
        """Raises NotImplementedError."""
        raise NotImplementedError("mstorch: storages of a device keep their size")

    def copied(self) -> Value:
        """The same value in memory of its own."""
        return Value(_clone[NAME_OF[self.raw.dtype]](self.raw), self.shadow)

    def address_of(self, tensor: Any) -> int:
        """The same of the first element of a tensor."""
        return self.address + int(tensor._offset * tensor._dtype.itemsize)

    def put_bytes(self, memory: np.ndarray) -> None:
        """Take other values, given as bytes."""
        self.raw = from_numpy(np.array(memory.view(NP_DTYPE[NAME_OF[self.raw.dtype]]).reshape(self.raw.shape), order="C"))
        self.version += 1
        self.writes += 1
        self.shadow = None

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return int(self.raw.nbytes)


class Mirror:
    """Another storage's memory, whose elements are seen conjugated, negated or both: what lies beneath torch's lazy conjugates."""

    __slots__ = ("inner", "conj", "neg", "__weakref__")

    moved = True  # a window of it is computed anew each time
    shared = None
    parameter = None
    pinned = False

    def __init__(self, inner: Storage, conj: bool, neg: bool) -> None:
        self.inner = inner
        self.conj = conj
        self.neg = neg

    @property
    def version(self) -> int:
        """The count of writes to the memory."""
        return self.inner.version

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.inner.nbytes

    @property
    def memory(self) -> np.ndarray:
        """The bytes of the memory itself."""
        return self.inner.memory

    def turned(self, array: Any) -> Any:
        """Elements that lie in the memory as they are seen, and the reverse."""
        found = np.conjugate(array) if self.conj else array
        return np.negative(found) if self.neg else found

    def turned_raw(self, raw: Raw) -> Raw:
        """The same of MindSpore's tensor."""
        name = NAME_OF[raw.dtype]
        found = _conj[name](raw) if self.conj else raw
        return _neg[name](found) if self.neg else found


class Counter:
    """A version of its own for a tensor over memory that others share: what ``.data`` gives."""

    __slots__ = ("version",)

    def __init__(self, version: int = 0) -> None:
        self.version = version


class NativeBlock:
    """A stretch of a thread's work on MindSpore's side: values stand in for the host memory that is used in it.

    ``captured`` says that a graph is being captured: what is written then stays in the values, and is read from them.
    """

    def __init__(self, captured: bool = False) -> None:
        self.captured = captured
        self._cells: dict[int, tuple[Storage, Value]] = {}

    def cell(self, storage: Storage, kind: np.dtype, leaf: Any = None) -> Value:
        """The value that stands for a storage whose elements are asked for in a dtype; ``leaf`` is ours that it belongs to."""
        found = self._cells.get(id(storage))
        if found is None:
            raw = storage.parameter
            if raw is None:
                source = storage._source
                if source is None:
                    size = kind.itemsize
                    source = storage.memory[: storage.nbytes // size * size].view(kind)
                raw = from_numpy(source)
            if leaf is not None and not self.captured and tape.is_recording() and not raw._requires_grad:
                tape.mark_leaf(raw)
                ENDS.add(raw, leaf)
            found = self._cells[id(storage)] = (storage, Value(raw))
        return found[1]

    def storages(self) -> set[int]:
        """The ids of the storages that values stand for."""
        return set(self._cells)

    def put(self, storage: Storage, raw: Raw) -> Value:
        """Let another value stand for a storage."""
        cell = Value(raw)
        self._cells[id(storage)] = (storage, cell)
        return cell

    def __enter__(self) -> NativeBlock:
        self._outer, modes.native = modes.native, self
        return self

    def __exit__(self, *exc: Any) -> None:
        modes.native = self._outer


def face(array: np.ndarray) -> Raw:
    """MindSpore's tensor over the memory of an array; of a copy where the array is not row-major."""
    return from_numpy(array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape))
