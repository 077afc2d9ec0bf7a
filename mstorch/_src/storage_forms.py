"""Private names of torch's storages that packages use: shared memory from the start, typed storages without a warning."""
from __future__ import annotations

import copy
import operator
from typing import Any, NoReturn, TypeVar

from typing_extensions import Self

from .backend.arrays import Number
from .core.device import device

_Typed = TypeVar("_Typed")


class UntypedForms:
    """Private methods of UntypedStorage."""

    __slots__ = ()

    @classmethod
    def _new_shared(cls, size: int, *, device: int | str | device = "cpu") -> Self:
        """Return a new storage of ``size`` bytes in shared memory."""
        made: Any = cls(size, device=None if str(device) == "cpu" else device)  # type: ignore[call-arg]
        return made.share_memory_()

    def _fix_weakref(self: Any) -> None:
        """Do nothing: mstorch's weak references need no repair."""

    def _share_fd_cpu_(self: Any) -> Any:
        return _shared_in_memory(self, "fd")

    def _share_filename_cpu_(self: Any) -> Any:
        return _shared_in_memory(self, "filename")

    def _write_file(self: Any, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to a file; on request, preceded by the number of elements in eight bytes."""
        payload = self.cpu()._bytes().tobytes()
        file.write((len(payload) // element_size).to_bytes(8, "little") + payload if save_size else payload)


def _shared_in_memory(storage: Any, way: str) -> NoReturn:
    """Raise: memory is passed to processes by ``share_memory_`` and pickles (multiprocessing), not by handles."""
    if storage.device.type == "meta":
        raise RuntimeError(f"_share_{way}_: only available on CPU")
    raise NotImplementedError(f"mstorch: _share_{way}_cpu_ gives no handle; share_memory_() moves the elements to memory that is shared")


class TypedForms:
    """Private methods of TypedStorage."""

    __slots__ = ()

    @property
    def _dtype(self) -> Any:
        return self.dtype  # type: ignore[attr-defined]

    def _new_shared(self: _Typed, size: int, *, device: int | str | device | None = None) -> _Typed:
        """Return a new storage with the same dtype in shared memory."""
        own: Any = self
        untyped = own._untyped_storage._new_shared(size * own.element_size(), device=own.device if device is None else device)
        return own._new_wrapped_storage(untyped)

    def _new_wrapped_storage(self: _Typed, untyped_storage: object) -> _Typed:
        own: Any = self
        return type(own)(wrap_storage=untyped_storage, dtype=own.dtype, _internal=True)

    def _share_fd_cpu_(self: Any) -> Any:
        return self._untyped_storage._share_fd_cpu_()

    def _share_filename_cpu_(self: Any) -> Any:
        return self._untyped_storage._share_filename_cpu_()

    def _write_file(self: Any, *args: Any, **kwargs: Any) -> None:
        self._untyped_storage._write_file(*args, **kwargs)

    def _size(self: Any) -> int:
        return self.size()

    def _nbytes(self: Any) -> int:
        return self.nbytes()

    def _element_size(self: Any) -> int:
        return self.element_size()

    def _data_ptr(self: Any) -> int:
        return self.data_ptr()

    def _is_shared(self: Any) -> bool:
        return self.is_shared()

    def _share_memory_(self: _Typed) -> _Typed:
        own: Any = self
        return own.share_memory_()

    def _resize_(self: Any, size: int) -> None:
        self.resize_(size)

    def _pickle_storage_type(self: Any) -> str:
        return self.pickle_storage_type()

    def _deepcopy(self: _Typed, memo: dict[Any, Any]) -> _Typed:
        return copy.deepcopy(self, memo)

    def _getitem(self: Any, index: int | slice[Any, Any, Any]) -> float:
        return self[index]

    def _setitem(self: Any, index: int, value: Number) -> None:
        self[index] = value

    def _maybe_wrap_index(self: Any, index: Any, is_stop: bool = False) -> int:
        """Return an index normalized to count from the front."""
        size = self.size()
        if index is None:
            return size if is_stop else 0
        try:
            place = operator.index(index)
        except TypeError:
            raise TypeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}") from None
        if place > size or place == size and not is_stop or place < -size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return place + size if place < 0 else place
