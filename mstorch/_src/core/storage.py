"""Memory shared by tensors and their views: the host's, a device's, or the current value in a capture.

The object that holds a tensor's elements is its home (``home``): its storage or, in a block of MindSpore's, the value that stands for the
storage. A home has these attributes:

- ``kind``: "host", "device", "captured", "absent" or "mirrored", on which functions dispatch (``_src/tape/ways.py``);
- ``reads_are_free``: elements can be read without a transfer or a wait;
- ``has_elements``: there are elements to read, possibly after waiting for a device;
- ``grows``: it may be resized by a write;
- ``fuses(op, name)``: whether one kernel computes an operation in that dtype that is composed of others elsewhere;
- ``is_shown_by(tensor)``, ``whole(tensor)``: whether a tensor is all of the memory in row-major order, and MindSpore's tensor over it;
- ``is_free(tensor)``: whether a kernel may write the tensor's elements in place, because they are all of the memory and nothing else
  refers to it.
"""
from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

from ..backend import device_memory, tape
from ..backend.arrays import Array, Number
from ..backend.cell import set_value
from ..backend.forked import forked
from ..backend.geometry import contiguous_strides, flat_index, row_major_strides
from ..backend.raw import NAME_OF, NP_DTYPE, ON_CPU, Raw, from_numpy, raw_dtype, raw_shape, raw_size
from ..backend.table import kernel, serves
from ..leaving import Block, values_again
from .device import META, device
from .ends import ENDS
from .kept_windows import Windows
from .modes import modes
from .no_memory import zeroed
from .strides import Strides
from .tensor_class import TensorBase

_clone, _reinterpret = kernel("clone"), kernel("view_dtype")
_gather, _scatter, _reshape = kernel("storage_gather"), kernel("storage_scatter"), kernel("reshape")


def _false(self: Storage, *args: Any) -> bool:
    """Return False."""
    return False


class Storage:
    """Host memory. A tensor is a strided view (offset, strides, shape, dtype) of it, and writes go to the memory.

    ``version`` counts in-place writes. ``moved``: the memory has been replaced (``resize_``, ``share_memory_``), so that NumPy views of it
    may not be cached. ``parameter``: the mindspore.Parameter over the same memory, once MindSpore has requested one.
    """

    __slots__ = ("_source", "_memory", "version", "moved", "shared", "parameter", "pinned", "level", "__weakref__")

    kind = "host"
    reads_are_free = has_elements = grows = True
    fuses = is_free = _false

    def __init__(self, source: Array) -> None:
        self._source: Array | None = source  # C-contiguous, of any dtype
        self._memory: Array | None = None
        self.version = 0
        self.moved = False
        self.shared: Any = None  # owner of memory that is shared with other processes
        self.parameter: Any = None
        self.pinned, self.level = False, modes.level

    @property
    def memory(self) -> Array:
        """The bytes as a flat uint8 array."""
        found = self._memory
        if found is None:
            source = self._source
            assert source is not None
            found = self._memory = source.reshape(-1).view(np.uint8)
            self._source = None
        return found

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.memory.nbytes

    def share_with(self, parameter: Any) -> None:
        """Register a mindspore.Parameter that shares this memory; if MindSpore reallocates the parameter's memory, the storage uses the new
        one.
        """
        self.parameter = parameter
        self.moved = True

    def follow(self) -> None:
        """Adopt the current memory of the parameter."""
        array = self.parameter.asnumpy()
        if array.__array_interface__["data"][0] != self.memory.__array_interface__["data"][0]:
            self._memory, self._source = array.reshape(-1).view(np.uint8), None

    def resize(self, size: int) -> None:
        """Resize to ``size`` bytes; the contents are kept, new bytes are zero."""
        old, memory = self.memory, zeroed(size, np.dtype(np.uint8))
        kept = min(size, old.nbytes)
        memory[:kept] = old[:kept]
        self.exchange(memory)

    def copied(self) -> Storage:
        """Return a copy."""
        return Storage(self.memory.copy())

    def is_shown_by(self, tensor: TensorBase) -> bool:
        """Return whether a tensor covers all of the memory in row-major order."""
        whole = tensor._ms_stride is None and not tensor._ms_offset
        return whole and self.nbytes == math.prod(tensor._ms_shape) * tensor._ms_dtype.itemsize

    def whole(self, tensor: TensorBase) -> Raw:
        """Return the MindSpore tensor over all of the memory, which the tensor covers."""
        if self.parameter is not None:
            self.follow()
        return from_numpy(self.memory.view(tensor._ms_dtype.np).reshape(tensor._ms_shape))

    def let_go(self) -> None:
        """Free the memory."""
        self.exchange(np.empty(0, np.uint8))

    def exchange(self, memory: Array) -> None:
        """Replace the memory by a flat uint8 array; tensors over this storage use the new memory from now on."""
        self._memory, self._source = memory, None
        self.moved = True
        self.parameter = None


FIXED: weakref.WeakSet[Storage] = weakref.WeakSet()  # storages over memory of other owners, which cannot grow


def refuse_growth(storage: Storage) -> None:
    """Raise torch's error for growing a storage over memory that it does not own."""
    if storage in FIXED:
        raise RuntimeError("Trying to resize storage that is not resizable")


class Absent:
    """Storage without memory: of meta tensors, and of wrapper subclasses, whose elements are in other tensors."""

    __slots__ = ("device", "version", "nbytes", "__weakref__")

    kind = "absent"
    reads_are_free = has_elements = grows = False
    fuses = is_free = _false
    moved = False
    shared = None
    parameter = None
    pinned = False

    def __init__(self, device: device, nbytes: int = 0) -> None:
        self.device = device
        self.version = 0
        self.nbytes = nbytes

    def resize(self, size: int) -> None:
        """Set the size in bytes."""
        self.nbytes = size

    def elements(self, kind: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """Return zeros that occupy no memory for a meta tensor; raise RuntimeError for a wrapper subclass."""
        if self.device is not META:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        if not modes.shapes:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return np.broadcast_to(np.zeros((), kind), shape)

    def copied(self) -> Absent:
        """Return another storage without memory, of the same size."""
        return Absent(self.device, self.nbytes)

    def is_shown_by(self, tensor: Any) -> bool:
        """Return True."""
        return True

    def whole(self, tensor: Any) -> Raw:
        """Raise RuntimeError as reading does; return zeros for a meta tensor."""
        return from_numpy(self.elements(tensor._ms_dtype.np, tensor._ms_shape))

    @property
    def memory(self) -> Array:
        """Raise RuntimeError: the storage has no memory."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def _full_strides(strides: Strides | None, shape: tuple[int, ...]) -> Strides:
    """Return the strides; None means row-major strides."""
    return contiguous_strides(shape) if strides is None else strides


class _Native:
    """Storage whose elements are held by a MindSpore tensor."""

    __slots__ = ()

    moved = False
    shared = None
    parameter = None

    @property
    def address(self) -> int:
        """Unique number in place of the address, which MindSpore reveals only after waiting for the device."""
        return id(self) << 12

    def address_of(self, tensor: TensorBase) -> int:
        """Return the number in place of an address for the first element of a tensor."""
        return self.address + int(tensor._ms_offset * tensor._ms_dtype.itemsize)


class DeviceMemory(_Native):
    """Device memory. A tensor is a strided view (offset, strides, shape, dtype) of it, and writes go to the memory.

    ``base``: the row-major MindSpore tensor that offsets and strides refer to. ``exchanges``: how often the base was replaced; views made
    before show the old base. ``windows``: the views of the base that tensors keep. ``lent``: the base has other owners, so that it is not
    replaced. ``shadow``: host array that integers and scalars were made from, until they are modified; indices are read from it without a
    transfer. ``derived``: a key and a result that was computed from the elements, until they are modified. ``parameter``: the
    mindspore.Parameter that is the base, once MindSpore has requested one.
    """

    __slots__ = ("base", "version", "exchanges", "windows", "lent", "shadow", "derived", "parameter", "level", "__weakref__")

    kind = "device"
    has_elements = grows = True
    pinned = False

    @property
    def reads_are_free(self) -> bool:
        """True if the host array that the storage was made from is still valid, so that reads need no transfer."""
        return self.shadow is not None

    def fuses(self, op: str, name: str) -> bool:
        """Return whether the device has a single kernel for an operation that is composed of several on other devices."""
        return serves(op, name)

    def is_shown_by(self, tensor: Any) -> bool:
        """Return whether a tensor covers all of the memory in row-major order."""
        return is_all_of_device_memory(tensor) and tuple(self.base.shape) == tensor._ms_shape

    def whole(self, tensor: Any) -> Raw:
        """Return the MindSpore tensor that holds all of the memory."""
        return self.base

    def is_free(self, tensor: TensorBase) -> bool:
        """Return whether a tensor covers all of the memory and is its only user, so that a kernel may write into it."""
        return is_all_of_device_memory(tensor) and not self.lent and self.parameter is None

    def __init__(self, base: Raw, shadow: Array | None = None) -> None:
        if forked.here:
            forked.refuse_device()
        self.base = device_memory.owned(base)
        self.version = 0
        self.exchanges, self.windows, self.lent, self.level = 0, Windows(), False, modes.level
        self.shadow = shadow
        self.derived: tuple[Any, Any] | None = None
        self.parameter: Any = None

    @classmethod
    def over(cls, part: Raw) -> DeviceMemory:
        """Return a storage whose memory is one of the ``parts`` of a larger one: it owns it, but others lie beside it."""
        storage = cls.__new__(cls)
        part._of_storage = True
        storage.base, storage.version = part, 0
        storage.exchanges, storage.windows, storage.lent, storage.level = 0, Windows(), False, modes.level
        storage.shadow = storage.derived = storage.parameter = None
        return storage

    def share_with(self, parameter: Any) -> None:
        """Use a mindspore.Parameter, which has the same values, as the base."""
        self.parameter = None
        self.exchange(parameter)
        self.parameter = parameter

    def read(self, name: str, shape: tuple[int, ...], strides: Strides | None, offset: int) -> Raw:
        """Return the elements of a strided view in a dtype: a view of the memory, or a copy if the base has another dtype."""
        if forked.here:
            forked.refuse_device()
        base = self.base
        if NAME_OF[raw_dtype(base)] != name:
            base = _reinterpret[name](device_memory.dense(base), name)
        if strides is None:
            if not offset and raw_shape(base) == shape:
                return base
        if not raw_size(base) and 0 not in shape:
            raise RuntimeError(f"a tensor of {list(shape)} is out of bounds for storage of size 0")
        return device_memory.window(base, shape, row_major_strides(shape) if strides is None else strides, offset)

    def write(self, new: Raw, shape: tuple[int, ...], strides: Strides | None, offset: int, own: bool | None) -> bool:
        """Write ``new`` into a strided view of its shape and dtype; return whether ``new`` has become the base.

        ``own``: ``new`` has no other owners, so that it may replace the base if it covers all of it (None: a kernel's result, which may be
        one of its inputs).
        """
        self.forget()
        if new is self.base:
            return False
        name, held = NAME_OF[raw_dtype(new)], NAME_OF[raw_dtype(self.base)]
        if name == held:
            whole = strides is None and not offset and new.size == self.base.size and not self.lent and self.parameter is None
            if whole and own is not False and device_memory.is_dense(new) and (own or not device_memory.shows_others(new)):
                self.exchange(new)
                return True
            self._keep(device_memory.put(self.base, shape, _full_strides(strides, shape), offset, new))
            return False
        seen = device_memory.dense(_reinterpret[name](self.base, name))
        turned = device_memory.put(seen, shape, _full_strides(strides, shape), offset, new)
        self.exchange(_reinterpret[held](turned, held))
        return False

    def shadowed(self, kind: np.dtype[Any], shape: tuple[int, ...], strides: Strides, offset: int) -> Array | None:
        """Return a read-only strided view of the host array that integers were made from; None if its dtype differs."""
        assert self.shadow is not None
        shadow, size = self.shadow, kind.itemsize
        if shadow.dtype != kind or 0 in shape:
            return None
        if not shadow.flags.c_contiguous:
            shadow = np.ascontiguousarray(shadow)
        found: Array = np.ndarray(shape, kind, shadow, offset * size, [step * size for step in strides])
        found.flags.writeable = False
        return found

    def fill(self, kind: str, value: Number, shape: tuple[int, ...], strides: Strides | None, offset: int) -> bool:
        """Fill a strided view with a Python number; return False if the base has another dtype."""
        if NAME_OF[raw_dtype(self.base)] != kind:
            return False
        self.forget()
        self._keep(device_memory.fill(self.base, shape, _full_strides(strides, shape), offset, value))
        return True

    def changes(self, op: str, args: tuple[Any, ...], kind: str) -> bool:
        """Return whether the device has a kernel that runs an operation in place on elements of a dtype, with ``args``."""
        return NAME_OF[raw_dtype(self.base)] == kind and device_memory.changes(op, kind, args)

    def change(self, op: str, args: tuple[Any, ...], shape: tuple[int, ...], strides: Strides | None, offset: int) -> None:
        """Run an operation in place on a strided view, with ``args``."""
        self.forget()
        self._keep(device_memory.change(self.base, shape, _full_strides(strides, shape), offset, op, args))

    def _keep(self, base: Raw) -> None:
        if base is not self.base:
            self.exchange(base)

    def forget(self) -> None:
        """Drop the host array and what was derived from the elements, because they have changed."""
        self.shadow = self.derived = None

    def let_go(self) -> None:
        """Free the memory."""
        self.exchange(from_numpy(np.empty(0, NP_DTYPE[NAME_OF[raw_dtype(self.base)]])))  # which launches no kernel

    def exchange(self, base: Raw) -> None:
        """Replace the base; tensors over this storage use the new base from now on. A base that is a parameter stays and takes the new
        memory.
        """
        if self.parameter is not None:
            set_value(self.parameter, base)
            base = self.parameter
        base._of_storage = True
        self.base, self.lent, self.exchanges = base, False, self.exchanges + 1
        self.forget()
        self.windows.end()

    @property
    def memory(self) -> Array:
        """A copy of the bytes as a flat uint8 array."""
        return np.array(self.base.asnumpy(), order="C").reshape(-1).view(np.uint8)

    def resize(self, size: int) -> None:
        """Resize to ``size`` bytes; the contents are kept, new bytes are zero."""
        name, item = NAME_OF[raw_dtype(self.base)], self.base.itemsize
        count, have = -(-size // item), self.base.size
        flat = device_memory.zeros((count,), name)
        kept = min(count, have)
        if kept:
            flat = device_memory.put(flat, (kept,), (1,), 0, device_memory.window(self.base, (kept,), (1,), 0))
        self.exchange(flat)

    def copied(self) -> DeviceMemory:
        """Return a copy."""
        return DeviceMemory(_clone[NAME_OF[raw_dtype(self.base)]](self.base), self.shadow)

    def put_bytes(self, memory: Array) -> None:
        """Replace the elements, given as bytes."""
        base = self.base
        self.exchange(from_numpy(np.array(memory.view(NP_DTYPE[NAME_OF[raw_dtype(base)]]).reshape(base.shape), order="C")))
        self.version += 1

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.base.nbytes)


def is_all_of_device_memory(tensor: TensorBase) -> bool:
    """Return whether a tensor covers all of a storage in device memory, row-major and in its dtype, so that a kernel may write into the
    base.
    """
    storage = tensor._ms_storage
    if storage.__class__ is not DeviceMemory or tensor._ms_stride is not None or tensor._ms_offset:
        return False
    base = storage.base
    return bool(raw_size(base) == math.prod(tensor._ms_shape) and NAME_OF[raw_dtype(base)] == tensor._ms_dtype._held)


class Value(_Native):
    """Current value of a tensor in a capture; a write computes a new value that replaces it.

    Offsets and strides refer to the elements of ``raw`` in row-major order.
    """

    __slots__ = ("raw", "version", "writes", "__weakref__")

    kind = "captured"
    reads_are_free, has_elements, grows = False, True, False
    fuses = is_free = _false
    shadow = None

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.version = 0  # the version counter for autograd
        self.writes = 0  # the number of replacements of the value, whichever counter counts them

    def read(self, name: str, shape: tuple[int, ...], strides: Strides | None, offset: int) -> Raw:
        """Return the elements of a strided view in the dtype with this name."""
        raw = self.raw
        if NAME_OF[raw_dtype(raw)] != name:
            raw = _reshape[name](_reinterpret[name](raw, name), (-1,))
        if strides is None:
            if not offset and raw.size == math.prod(shape):
                return raw if raw_shape(raw) == shape else _reshape[name](raw, shape)
        return _gather[name](raw, from_numpy(flat_index(shape, _full_strides(strides, shape), offset)))

    def write(self, new: Raw, shape: tuple[int, ...], strides: Strides | None, offset: int) -> None:
        """Replace the value of the storage by one in which a strided view holds the elements of ``new``."""
        name, held, own = NAME_OF[raw_dtype(new)], NAME_OF[raw_dtype(self.raw)], tuple(self.raw.shape)
        if name == held and strides is None and not offset and self.raw.size == new.size:
            self.raw = new if tuple(new.shape) == own else _reshape[name](new, own)
        else:
            raw = self.raw if name == held else _reinterpret[name](self.raw, name)
            raw = _scatter[name](raw, from_numpy(flat_index(shape, _full_strides(strides, shape), offset)), new)
            self.raw = raw if name == held else _reshape[held](_reinterpret[held](raw, held), own)
        self.writes += 1

    @property
    def memory(self) -> Array:
        """A copy of the bytes as a flat uint8 array."""
        return np.array(self.raw.asnumpy(), order="C").reshape(-1).view(np.uint8)

    def resize(self, size: int) -> None:
        """Raise NotImplementedError: storages keep their size in a captured graph."""
        raise NotImplementedError("mstorch: storages keep their size in a captured graph")

    def copied(self) -> Value:
        """Return a copy."""
        return Value(_clone[NAME_OF[raw_dtype(self.raw)]](self.raw))

    def is_shown_by(self, tensor: Any) -> bool:
        """Return whether a tensor is all of the value in row-major order."""
        return tensor._ms_stride is None and tuple(self.raw.shape) == tensor._ms_shape

    def whole(self, tensor: Any) -> Raw:
        """Return the value."""
        return self.raw

    def put_bytes(self, memory: Array) -> None:
        """Replace the values, given as bytes."""
        self.raw = from_numpy(np.array(memory.view(NP_DTYPE[NAME_OF[raw_dtype(self.raw)]]).reshape(self.raw.shape), order="C"))
        self.version += 1
        self.writes += 1

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(self.raw.nbytes)


NATIVE: Any = frozenset((DeviceMemory, Value))
"""Storage classes whose elements are a MindSpore tensor's: on a device, and in a capture."""


class Counter:
    """Version counter of a tensor that shares memory with another but counts writes separately: the result of ``.data``."""

    __slots__ = ("version",)

    def __init__(self, version: int = 0) -> None:
        self.version = version


_NOT_IN_GRAPHS = frozenset(("batch_norm_parts",))
"""Operations whose kernel writes to memory: to running statistics."""


class NativeBlock(Block):
    """Block of a thread in which MindSpore computes: MindSpore tensors replace the host storages.

    ``captured``: a graph is being captured; writes stay in the values, and reads come from them. ``follows``: mstorch's autograd tracks
    what is computed, so that the gradients can be captured too. ``steps``: they are captured in this graph, by ``backward()``.
    """

    kind = "captured"
    grows = False
    is_free = _false

    def __init__(self, captured: bool = False, follows: bool = False, steps: bool = False) -> None:
        self.captured, self.follows, self.steps = captured, follows, steps
        self.reads_are_free, self.has_elements = not captured and ON_CPU, not captured
        self._cells: dict[int, tuple[Storage, Value]] = {}

    def fuses(self, op: str, name: str) -> bool:
        """Return whether a capture may use a device's single kernel for an operation: its gradient must be mstorch's own."""
        return self.follows and op not in _NOT_IN_GRAPHS and serves(op, name)

    def cell(self, storage: Storage, kind: np.dtype[Any], leaf: TensorBase | None = None) -> Value:
        """Return the MindSpore tensor that replaces a storage in a dtype; ``leaf`` is the tensor to which the storage belongs, for
        gradients.
        """
        found = self._cells.get(id(storage))
        if kind.names and self.captured:
            raise NotImplementedError(f"mstorch: a tensor of torch.{kind.names[0]} in a graph of MindSpore's")
        if found is None:
            if self.captured and not ON_CPU and storage.__class__ is Storage:
                tape.refuse_cpu_in_trace("a tensor of the CPU is used")
            raw = storage.base if storage.__class__ is DeviceMemory else storage.parameter
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
        """Return the ids of the storages that MindSpore tensors replace."""
        return set(self._cells)

    def values(self) -> list[Value]:
        """Return the values that replace storages."""
        return [value for _, value in self._cells.values()]

    def put(self, storage: Storage, raw: Raw) -> Value:
        """Replace a storage by another MindSpore tensor."""
        cell = Value(raw)
        self._cells[id(storage)] = (storage, cell)
        return cell

    def __enter__(self) -> NativeBlock:
        self.at_end(values_again(modes, "native"))
        modes.native = self
        return self


def home(tensor: TensorBase) -> Any:
    """Return the object that currently holds a tensor's elements."""
    storage = tensor._ms_storage
    return storage if modes.native is None or storage.__class__ is Absent else modes.native
