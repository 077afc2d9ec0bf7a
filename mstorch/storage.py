"""torch.storage: the memory that tensors share, as bytes (``UntypedStorage``) and as elements (``TypedStorage``)."""
from __future__ import annotations

import functools
import io
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from ._src.backend import tape
from ._src.backend.arrays import Array, Number
from ._src.backend.cast import in_python, numpy_cast
from ._src.backend.raw import from_numpy
from ._src.core import device as devices
from ._src.core.above import above
from ._src.core.cuda_names import is_cuda
from ._src.core.device import device
from ._src.core.dtype import dtype, get_default_dtype, int64, uint8
from ._src.core.naming import NamedAsInTorch, is_torch
from ._src.core.no_memory import zeroed
from ._src.core.shared import Block, mapped
from ._src.core.storage import FIXED, Absent, DeviceMemory
from ._src.core.storage import Storage as Cell
from ._src.core.tensor_base import window
from ._src.ops._deprecated import _get_always_warn_typed_storage_removal as _get_always_warn_typed_storage_removal
from ._src.ops._deprecated import _set_always_warn_typed_storage_removal as _set_always_warn_typed_storage_removal
from ._src.ops._dispatch import type_word
from ._src.ops.memory import from_data
from ._src.storage_checks import LEGACY, WORDS, check_arguments, length, on_meta
from ._src.storage_forms import TypedForms, UntypedForms
from ._tensor import Tensor

# The living storage objects, by their cell: a tensor's storage is one object as long as it is referenced.
_OBJECTS: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def _cell_of(array: Array) -> Cell:
    return from_data.made(array)._ms_storage


def _shown(storage: TypedStorage | UntypedStorage) -> str:
    """Format the elements, one per line."""
    return "...\n" if storage.device.type == "meta" else "".join(f" {value}\n" for value in storage.tolist())


class UntypedStorage(UntypedForms, metaclass=NamedAsInTorch):
    """A block of memory as bytes. ``UntypedStorage(n)`` allocates one, ``tensor.untyped_storage()`` shares the tensor's."""

    is_sparse = is_sparse_csr = is_hpu = False
    filename, is_cuda = None, is_cuda
    _cell: Any  # Storage, or Absent on the meta device

    def __new__(cls, *args: Any, device: Any = None) -> UntypedStorage:
        meta = device is not None and devices.is_meta(device)
        if not args:
            array = np.zeros(0, np.uint8)
        elif isinstance(args[0], int):
            array = zeroed(args[0], uint8.np)
        elif isinstance(args[0], Sequence):
            array = np.array(args[0], np.int64).astype(np.uint8)
        else:
            raise TypeError(f"UntypedStorage(): expected a size or a sequence of bytes, got {type(args[0]).__name__}")
        return untyped_of(Absent(devices.META, array.nbytes) if meta else _cell_of(array))

    def _flat(self) -> Array:
        return self._cell.memory

    def _bytes(self) -> Array:
        if isinstance(self._cell, Absent):
            raise NotImplementedError("Not available for 'meta' device type")
        return self._cell.memory

    def _write(self, index: int | slice[Any, Any, Any], values: Any, kind: dtype = uint8) -> None:
        """Write elements of a dtype into the memory, visible to every tensor that shares it."""
        cell = self._cell
        if isinstance(cell, Absent):
            return
        whole = cell.nbytes // kind.itemsize * kind.itemsize
        memory = cell.memory
        memory[:whole].view(kind.in_memory)[index] = values
        if isinstance(cell, DeviceMemory):
            return cell.put_bytes(memory)
        cell.version += 1
        if cell.parameter is not None:
            tape.bump_versions([cell.parameter])

    @property
    def _cdata(self) -> int:
        return id(self._cell)

    @property
    def device(self) -> device:
        """The device of the memory."""
        cell = self._cell
        return cell.device if isinstance(cell, Absent) else devices.current() if isinstance(cell, DeviceMemory) else devices.resolve("cpu")

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return int(self._cell.nbytes)

    __len__ = size = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Return 1: the elements are bytes."""
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 without memory, a number unique to the storage on a device."""
        if isinstance(self._cell, Absent):
            return 0
        if isinstance(self._cell, DeviceMemory):
            return self._cell.address
        return int(self._flat().ctypes.data)

    def get_device(self) -> int:
        """Return the index of the device, -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def untyped(self) -> UntypedStorage:
        """Return self."""
        return self

    def elements_in(self, kind: dtype | None) -> Array:
        """Return the memory as elements of a dtype, int64 by default."""
        kind = kind or int64
        return self._bytes()[: self.nbytes() // kind.itemsize * kind.itemsize].view(kind.in_memory)

    def tolist(self) -> list[int]:
        """Return the bytes as a list of ints."""
        return self._bytes().tolist()

    def __getitem__(self, index: int | slice[Any, Any, Any]) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            return untyped_of(_cell_of(self._bytes()[index].copy()))
        return int(self._bytes()[_checked(index, len(self), "UntypedStorage")])

    def __setitem__(self, index: Any, value: int) -> None:
        place = index if isinstance(index, slice) else _checked(index, len(self), "UntypedStorage")
        self._write(place, np.int64(value).astype(np.uint8))

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte; return self."""
        self._write(slice(None), np.int64(value).astype(np.uint8))
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Copy the bytes of a storage of the same size; return self."""
        other = source.untyped()
        if other.nbytes() != self.nbytes():
            raise RuntimeError("size mismatch")
        self._write(slice(None), other._bytes().copy())
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy with its own memory."""
        cell = self._cell
        if not isinstance(cell, Cell):
            return untyped_of(cell.copied())
        return untyped_of(_cell_of(self._bytes().copy()))

    def cpu(self) -> UntypedStorage:
        """Return self if it is on the CPU, else a copy there."""
        if isinstance(self._cell, Absent):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return untyped_of(_cell_of(self._bytes())) if isinstance(self._cell, DeviceMemory) else self

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """Return self if it is on the device, else a copy there."""
        place = devices.resolve(device)
        if isinstance(self._cell, Cell) and place.type not in ("cpu", "meta"):
            return untyped_of(DeviceMemory(from_numpy(self._bytes().copy())))
        return self.cpu() if place.type == "cpu" else self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """Return the storage on a GPU. Raise if there is none."""
        return self.to(device="cuda" if device is None else device)

    def new(self) -> UntypedStorage:
        """Return an empty storage."""
        return UntypedStorage()

    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """Return "torch.storage.UntypedStorage". Raise NotImplementedError if a dtype is given."""
        if dtype is not None:
            raise NotImplementedError("mstorch: a storage converts by .float(), .double() and the like")
        return "torch.storage.UntypedStorage"

    def is_shared(self) -> bool:
        """Return whether ``share_memory_`` was called."""
        return not isinstance(self._cell, Absent) and self._cell.shared is not None or isinstance(self._cell, DeviceMemory)

    def share_memory_(self) -> UntypedStorage:
        """Move the elements to shared memory, for processes that receive the storage; return self."""
        cell = self._cell
        if isinstance(cell, Absent):
            self._share_fd_cpu_()
        if cell.shared is not None or not self.nbytes() or isinstance(cell, DeviceMemory):
            return self
        block = Block(cell.nbytes)
        block.memory[...] = cell.memory
        cell.exchange(block.memory)
        cell.shared = block
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Return False: memory is never page-locked."""
        return False

    def pin_memory(self, device: Any = "cuda") -> UntypedStorage:
        """Raise RuntimeError: memory is pinned only for an accelerator, and there is none."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def resizable(self) -> bool:
        """Return whether ``resize_`` may change the size."""
        return self._cell.shared is None and self._cell not in FIXED

    def resize_(self, size: int) -> UntypedStorage:
        """Resize to ``size`` bytes, keeping the contents and zero-filling the rest; return self."""
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        self._cell.resize(int(size))
        return self

    def byteswap(self, dtype: dtype) -> None:
        """Reverse the byte order of each element of a dtype, in place."""
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        self._write(slice(None), self._bytes().reshape(-1, size)[:, ::-1].reshape(-1).copy())

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: dtype = uint8
    ) -> UntypedStorage:
        """Return a copy of a buffer's bytes, converted from ``byte_order`` to the machine's."""
        array = np.frombuffer(buffer, dtype.np, count, offset).copy()
        if byte_order not in (None, "native", sys.byteorder):
            array = array.byteswap()
        return untyped_of(_cell_of(array.view(np.uint8)))

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Return a memory-mapped file; with ``shared``, writes go to the file, which is created if needed."""
        return untyped_of(_cell_of(mapped(filename, shared, nbytes)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._cell is self._cell

    def __hash__(self) -> int:
        return id(self._cell)

    def __repr__(self) -> str:
        return f"{_shown(self)}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        # Deep copies of tensors with this storage look up its copy under the same key.
        key = ("storage", id(self._cell))
        if memo.get(key) is None:
            memo[key] = self.clone()._cell
        return untyped_of(memo[key])

    def __reduce__(self) -> tuple[Any, ...]:
        own = UntypedStorage.from_buffer, (self._bytes().tobytes(),)
        return above.plain_pickles.reduced_storage(self) if is_torch() else own


def _checked(index: int, size: int, what: str) -> int:
    if not isinstance(index, int):
        raise TypeError(f"can't index a torch.{what} with {type(index).__name__}")
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index % size


def untyped_of(cell: Cell | Absent | DeviceMemory) -> UntypedStorage:
    """Return the storage object of a cell, which is unique as long as it is referenced."""
    found = _OBJECTS.get(id(cell))
    if found is None:
        found = object.__new__(UntypedStorage)
        found._cell = cell
        _OBJECTS[id(cell)] = found
    return found


def untyped_over(block: Block) -> UntypedStorage:
    """Return a storage over shared memory."""
    cell = _cell_of(block.memory)
    cell.shared = block
    return untyped_of(cell)


class _LegacyStorageMeta(NamedAsInTorch):
    """Metaclass of typed storage classes: ``isinstance(storage, FloatStorage)`` compares the dtype."""

    def __instancecheck__(cls, instance: UntypedStorage) -> bool:
        kind = cls.__dict__.get("_legacy_dtype")
        if kind is None:
            return type.__instancecheck__(cls, instance)
        return type(instance) is TypedStorage and instance.dtype is kind


class TypedStorage(TypedForms, metaclass=_LegacyStorageMeta):
    """A block of memory as elements of one dtype."""

    is_sparse = is_hpu = False
    filename, is_cuda = None, is_cuda
    dtype: dtype
    _untyped_storage: UntypedStorage

    def __new__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False) -> TypedStorage:
        legacy = cls.__dict__.get("_legacy_dtype")
        if cls.__name__ == "_LegacyStorage":
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        check_arguments(cls, legacy, args, wrap_storage, dtype, device, UntypedStorage)
        made = object.__new__(TypedStorage)
        made.dtype = legacy or dtype or get_default_dtype()
        meta = device is not None and on_meta(device)
        if wrap_storage is not None:
            made._untyped_storage = wrap_storage.untyped()
            return made
        count = length(cls, legacy, args[0]) if args else 0
        array = numpy_cast(np.array(args[0]), made.dtype.in_memory) if count is None else zeroed(count, made.dtype.in_memory)
        made._untyped_storage = untyped_of(Absent(devices.META, array.nbytes) if meta else _cell_of(array))
        return made

    def __init__(
        self, *args: Any, device: Any = None, dtype: Any = None, wrap_storage: UntypedStorage | None = None, _internal: bool = False
    ) -> None:
        """Do nothing: ``__new__``, which may return another class, does everything."""

    def _elements(self) -> Array:
        flat = self._untyped_storage._bytes()
        size = self.dtype.itemsize
        return flat[: flat.size // size * size].view(self.dtype.in_memory)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def elements_in(self, kind: Any) -> Array:
        """Return the elements. Raise RuntimeError if another dtype is requested."""
        if kind is not None and kind is not self.dtype:
            words = type_word(kind), type_word(self.dtype)
            raise RuntimeError("Expected a Storage of type {} or an UntypedStorage, but got {}".format(*words))
        return self._elements()

    def _with(self, array: Array, kind: Any) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped_of(_cell_of(array)), dtype=kind)

    def _python(self, value: Number) -> float:
        return in_python(np.asarray(value)).item()

    @property
    def device(self) -> device:
        """The device of the memory."""
        return self._untyped_storage.device

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """Return the same memory as an UntypedStorage."""
        return self._untyped_storage

    def size(self) -> int:
        """Return the number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element (CPU)."""
        return self._untyped_storage.data_ptr()

    def get_device(self) -> int:
        """Return the index of the device, -1 on the CPU."""
        return self._untyped_storage.get_device()

    def tolist(self) -> list[Any]:
        """Return the elements as a list of Python numbers."""
        return [self._python(value) for value in self._elements()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int | slice[Any, Any, Any]) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        return self._python(self._elements()[_checked(index, self.size(), "TypedStorage")])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        if is_storage(value):
            raise RuntimeError(f"cannot set item with value type <class 'torch.storage.{type(value).__name__}'>")
        if isinstance(value, str):
            raise TypeError(f"can't assign a str to a torch.{type_word(self.dtype)}Tensor")
        place = index if isinstance(index, slice) else _checked(index, self.size(), "TypedStorage")
        self._untyped_storage._write(place, numpy_cast(np.array(value), self.dtype.in_memory), self.dtype)

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element; return self."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the elements of a storage of the same length, cast to this dtype; return self."""
        source.cpu()  # which raises torch's error for the meta device
        values = source._elements() if isinstance(source, TypedStorage) else source._bytes().view(self.dtype.in_memory)
        if values.size != self.size():
            raise RuntimeError("size mismatch")
        self._untyped_storage._write(slice(None), numpy_cast(values, self.dtype.in_memory), self.dtype)
        return self

    def clone(self) -> TypedStorage:
        """Return a copy with its own memory."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """Return the storage on the CPU."""
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Return self, after checking that the device is the process's."""
        self._untyped_storage.to(device=device)
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return the storage on a GPU. Raise if there is none."""
        self._untyped_storage.cuda(device)
        return self

    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """Return the type's name, or a copy in another dtype."""
        if dtype is None:
            return f"torch.{_NAMES[self.dtype]}" if self.dtype in _NAMES else "torch.storage.TypedStorage"
        kind = getattr(_STORAGES.get(str(dtype).removeprefix("torch.")), "_legacy_dtype", dtype)
        return self._converted(kind)

    def _converted(self, kind: Any) -> TypedStorage:
        return self._with(numpy_cast(self._elements(), kind.in_memory), kind)

    def is_shared(self) -> bool:
        """Return whether ``share_memory_`` was called."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements to memory shared with processes forked later; return self."""
        self._untyped_storage.share_memory_()
        return self

    is_pinned = UntypedStorage.is_pinned

    def pin_memory(self, device: Any = "cuda") -> TypedStorage:
        """Raise RuntimeError: memory is pinned only for an accelerator, and there is none."""
        self._untyped_storage.pin_memory(device)
        return self

    def resizable(self) -> bool:
        """Return whether ``resize_`` may change the size."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Resize to ``size`` elements, keeping the contents and zero-filling the rest."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def pickle_storage_type(self) -> str:
        """Return the class name used in checkpoints."""
        return _NAMES[self.dtype]

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, **kwargs: Any) -> TypedStorage:
        """Return a copy of a buffer's elements."""
        kind = cls.__dict__.get("_legacy_dtype") or dtype or get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=kind, **kwargs), dtype=kind)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """Return a memory-mapped file; ``size`` counts elements."""
        kind = cls.__dict__.get("_legacy_dtype") or get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * kind.itemsize), dtype=kind)

    def __repr__(self) -> str:
        return f"{_shown(self)}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        own = functools.partial(TypedStorage, wrap_storage=self._untyped_storage, dtype=self.dtype), ()
        return above.plain_pickles.reduced_storage(self) if is_torch() else own


class _LegacyStorage(TypedStorage):
    """Base of the storage classes of one dtype each, such as ``FloatStorage``."""


_NAMES = {kind: name for name, kind in LEGACY.items()}
_STORAGES: dict[str, Any] = {
    name: _LegacyStorageMeta(
        name, (_LegacyStorage,), {"_legacy_dtype": kind, "dtype": kind, "__doc__": f"Storage of {kind!r}.", "__module__": "mstorch"}
    )
    for name, kind in LEGACY.items()
}
(
    DoubleStorage, FloatStorage, HalfStorage, LongStorage, IntStorage, ShortStorage, CharStorage, ByteStorage, BoolStorage,
    BFloat16Storage, ComplexDoubleStorage, ComplexFloatStorage, QUInt8Storage, QInt8Storage, QInt32Storage, QUInt4x2Storage,
    QUInt2x4Storage,
) = _STORAGES.values()  # fmt: skip


def _give_conversions() -> None:
    def converted(kind: dtype) -> Callable[..., Any]:
        def method(self: Any) -> TypedStorage:
            return (self if isinstance(self, TypedStorage) else TypedStorage(wrap_storage=self, dtype=uint8))._converted(kind)

        return method

    for word, kind in WORDS.items():
        for cls in (TypedStorage, UntypedStorage):
            method = converted(kind)
            method.__name__, method.__qualname__ = word, f"{cls.__name__}.{word}"
            method.__doc__ = f"Return a copy cast to {kind!r}."
            setattr(cls, word, method)


_give_conversions()
above.storages = sys.modules[__name__]


def _dtype_to_storage_type_map() -> dict[dtype, str]:
    """Return the names of the storage classes by dtype."""
    return dict(_NAMES)


def _storage_type_to_dtype_map() -> dict[str, dtype]:
    """Return the dtypes of the storage classes by name."""
    return dict(LEGACY)


def _load_from_bytes(b: bytes) -> Any:
    """Return a storage from the bytes of a torch file: plain pickles of torch tensors call this. They can run any code anyway."""
    return above.load(io.BytesIO(b), weights_only=False)


def is_storage(obj: Any, /) -> TypeGuard[TypedStorage | UntypedStorage]:
    """Return whether ``obj`` is a storage."""
    return type(obj) in (TypedStorage, UntypedStorage)


def default_storage() -> _LegacyStorageMeta:
    """Return the storage class of the default dtype, which torch calls ``Storage``."""
    return globals()[f"{type_word(get_default_dtype())}Storage"]


def untyped_storage(tensor: Tensor) -> UntypedStorage:
    """Return an UntypedStorage that shares a tensor's memory."""
    return untyped_of(tensor._ms_storage)


def typed_storage(tensor: Tensor) -> TypedStorage:
    """Return a TypedStorage that shares a tensor's memory, with its dtype."""
    return TypedStorage(wrap_storage=untyped_of(tensor._ms_storage), dtype=tensor._ms_dtype)


def tensor_over(storage: TypedStorage | UntypedStorage, kind: dtype) -> Any:
    """Return a 1-d tensor over all of a storage's memory."""
    if isinstance(storage, TypedStorage) and storage.dtype is not kind:
        raise RuntimeError(
            f"Expected a Storage of type {kind.name} or an UntypedStorage, but got type {storage.dtype.name} for argument 1 "
            "'storage'"
        )
    return window(cell := storage.untyped()._cell, kind, (cell.nbytes // kind.itemsize,), None, 0)
