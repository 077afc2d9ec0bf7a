"""The format before torch 1.6: five consecutive pickles, then the bytes of the storages."""

from __future__ import annotations

import inspect
import struct
import sys
from collections.abc import Callable, Sequence
from pickle import UnpicklingError
from types import ModuleType
from typing import Any

import numpy as np

from mstorch._src.serialization import adapter, names
from mstorch._src.serialization.file_storage import StorageType, handed_out, swap_bytes
from mstorch._src.serialization.loaded import ITEMSIZE, LoadedStorage, TypedRef, brief
from mstorch._src.serialization.locations import restorer
from mstorch._src.serialization.options import LOCAL
from mstorch._src.serialization.pickler import StorageTable, dump
from mstorch._src.serialization.unpickler import Unpickler, full_unpickler
from mstorch._src.serialization.zipfile_format import write_all

from ...storage import TypedStorage
from ..backend.arrays import Array
from ..core.warned import warn

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


class SourceChangeWarning(Warning):
    """Warns that the source of a saved class has changed."""


def save(obj: Any, file: Any, pickle_module: ModuleType | type[Any], protocol: int) -> None:
    """Write ``obj`` in the legacy format."""
    table = StorageTable()
    data = dump(obj, pickle_module, protocol, table, legacy=True)
    sizes = {"short": struct.calcsize("=h"), "int": struct.calcsize("=i"), "long": struct.calcsize("=l")}
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        write_all(file, pickle_module.dumps(part, protocol=protocol))
    write_all(file, data)
    storages = sorted(table, key=lambda saved: saved.key)
    write_all(file, pickle_module.dumps([saved.key for saved in storages], protocol=protocol))
    for saved in storages:
        values = adapter.cell_bytes(saved.array())
        write_all(file, struct.pack("<q", values.size // ITEMSIZE[saved.dtype_name or "uint8"]))
        write_all(file, values)


class _Storages:
    """The storages that a file's persistent ids refer to, still without values, and the objects returned for them."""

    def __init__(self, file: Any, map_location: Any) -> None:
        self.file, self.restore = file, restorer(map_location)
        self.storages: dict[Any, tuple[LoadedStorage, str | None]] = {}
        self.views: dict[Any, TypedRef | TypedStorage] = {}
        self.given: dict[Any, Any] = {}

    def persistent_load(self, pid: tuple[str, StorageType, str, str, int, Any]) -> Any:
        if not isinstance(pid, tuple) or not pid:
            raise UnpicklingError(f"saved_id must be a tuple, got {type(pid).__name__}")
        kind = _text(pid[0])
        if kind == "module":
            _, container, source_file, source = pid
            if source_file and source:
                _compare_source(container, source)
            return container
        if kind != "storage":
            raise RuntimeError(f"Unknown saved id type: {brief(pid[0])}")
        if len(pid) != 6 or not isinstance(pid[1], StorageType):
            raise UnpicklingError(f"a storage's persistent id in the file is malformed: {brief(pid)}")
        return self._named(*pid[1:])

    def _named(self, storage_type: StorageType, key: str, location: str, count: int, view: Any) -> TypedRef | TypedStorage:
        dtype = storage_type.dtype_name
        itemsize = ITEMSIZE[dtype or "uint8"]
        if key not in self.storages:
            if type(count) is not int or count < 0:
                raise RuntimeError(f"a storage in the file has {brief(count)} elements")
            _bounded(self.file, count * itemsize)
            self.storages[key] = self.restore(LoadedStorage(np.zeros(count * itemsize, np.uint8)), _text(location)), dtype
        loaded, _ = self.storages[key]
        if view is None:
            if (key, dtype) not in self.given:
                self.given[key, dtype] = handed_out(TypedRef(loaded, dtype))
            return self.given[key, dtype]
        view_key, offset, size = view
        if view_key not in self.views:
            self.views[view_key] = handed_out(TypedRef(loaded[offset * itemsize : (offset + size) * itemsize], dtype))
        return self.views[view_key]

    def read(self, keys: Sequence[str]) -> None:
        """Read the values, which follow in the order of the keys."""
        if type(keys) is not list:
            raise RuntimeError(f"the list of storages in the file is {type(keys)}")
        for key in keys:
            if key not in self.storages:
                raise RuntimeError(f"storage key {brief(key)} not found in deserialized_objects")
            _read_storage(self.file, *self.storages[key])
            if LOCAL.progress is not None:
                LOCAL.progress.done += self.storages[key][0].nbytes()
        for view in self.views.values():
            ref: Any = getattr(view, "in_file", view)
            adapter.refresh(ref.storage)


def _whole(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except EOFError as error:
        raise RuntimeError("unexpected EOF, a part of the file is missing. The file might be corrupted.") from error


def load(file: Any, map_location: Any, pickle_module: ModuleType, weights_only: bool, options: dict[str, Any]) -> Any:
    """Load an object from the legacy format. Raise RuntimeError or UnpicklingError if it is damaged."""
    storages = _Storages(file, map_location)

    def plain() -> Any:
        if weights_only:
            return Unpickler(file, encoding=options.get("encoding", "utf-8")).load()
        return pickle_module.load(file, **options)

    # Older files were tar archives; their first record has this name.
    if file.tell() == 0 and _is_tar(file):
        raise RuntimeError(
            "mstorch: the .tar format of torch 0.1 cannot be loaded; save the file again with a newer torch"
        )
    if plain() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = _whole(plain)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {brief(version)}")
    _whole(plain)
    if weights_only:
        unpickler: Any = Unpickler(file, encoding=options.get("encoding", "utf-8"))
        unpickler.persistent_load = storages.persistent_load
    else:
        unpickler = full_unpickler(pickle_module, storages.persistent_load)(file, **options)
    LOCAL.values_later, LOCAL.map_location = True, map_location
    try:
        result = _whole(unpickler.load)
    finally:
        LOCAL.values_later, LOCAL.map_location = False, None
    keys = _whole(plain)
    if not LOCAL.skip_data:
        storages.read(keys)
    return result


def _read_storage(file: Any, storage: LoadedStorage, dtype: str | None) -> None:
    itemsize = ITEMSIZE[dtype or "uint8"]
    (count,) = struct.unpack("<q", _exactly(file, 8))
    if count * itemsize != storage.nbytes():
        raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got {count * itemsize}")
    _read_into(file, storage.data)
    if sys.byteorder == "big":
        swap_bytes(storage.data, dtype)
    adapter.refresh(storage)


def _read_into(file: Any, data: Array) -> None:
    """Fill an array of bytes from a file, without a copy where the file has ``readinto``."""
    if not hasattr(file, "readinto"):
        data[:] = np.frombuffer(_exactly(file, data.size), np.uint8)
        return
    view, done = memoryview(data), 0  # type: ignore[arg-type]
    while done < data.size:
        count = file.readinto(view[done:])
        if not count:
            raise RuntimeError(f"unexpected EOF, expected {data.size - done} more bytes. The file might be corrupted.")
        done += count


def _exactly(file: Any, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise RuntimeError(f"unexpected EOF, expected {count - len(data)} more bytes. The file might be corrupted.")
    return data


def _bounded(file: Any, count: int) -> None:
    """Raise for a storage larger than the rest of the file, before allocating its memory."""
    here = file.tell()
    end = file.seek(0, 2)
    file.seek(here)
    if end is not None and count > end - here:
        raise RuntimeError(f"unexpected EOF, expected {count - (end - here)} more bytes. The file might be corrupted.")


def _is_tar(file: Any) -> bool:
    head = file.read(512)
    file.seek(0)
    return len(head) == 512 and head[257:262] == b"ustar"


def _text(value: Any) -> str:
    # With encoding="bytes", the keywords in files of Python 2 are bytes.
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def _compare_source(container: type, source: str) -> None:
    try:
        current = inspect.getsource(container)
    except (OSError, TypeError):
        warn(
            f"Couldn't retrieve source code for container of type {container.__name__}. It won't be checked for "
            "correctness upon loading.",
        )
        return
    if current != source and names.torch_name(container) is None:
        warn(f"source code of class '{container.__module__}.{container.__qualname__}' has changed.",
                      SourceChangeWarning)  # fmt: skip
