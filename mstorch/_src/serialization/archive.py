"""Object graphs in torch's zip format."""

from __future__ import annotations

import io
import mmap as mmap_module
import sys
from pickle import UnpicklingError
from typing import Any

import numpy as np

from mstorch._src.serialization import adapter
from mstorch._src.serialization.file_storage import StorageType, handed_out, swap_bytes
from mstorch._src.serialization.loaded import ITEMSIZE, LoadedStorage, TypedRef, brief
from mstorch._src.serialization.locations import restorer
from mstorch._src.serialization.options import LOCAL, OPTIONS, fallback_byteorder
from mstorch._src.serialization.pickler import StorageTable, dump
from mstorch._src.serialization.unpickler import Unpickler, full_unpickler
from mstorch._src.serialization.zipfile_format import ZipReader, ZipWriter

from ..backend.arrays import Array


class Archive:
    """The records of a file to save. Pickling is done before the file is opened, so that an object that cannot be pickled leaves no file.
    """

    def __init__(self, obj: Any, pickle_module: Any, protocol: int, byteorder_record: bool):
        self.storages = StorageTable()
        self.pickle = dump(obj, pickle_module, protocol, self.storages)
        self.byteorder_record = byteorder_record

    def write(self, file: Any, archive_name: str) -> None:
        """Write all records."""
        writer = ZipWriter(file, archive_name)
        writer.record("data.pkl", self.pickle)
        # Version 1: storages are in the order of their keys.
        writer.record(".format_version", b"1")
        writer.record(".storage_alignment", str(OPTIONS.storage_alignment).encode())
        if self.byteorder_record:
            writer.record("byteorder", sys.byteorder.encode())
        for saved in self.storages:
            values = adapter.cell_bytes(saved.array())
            writer.record(f"data/{saved.key}", values, skip=LOCAL.skip_data)
        writer.close()


def map_file(path: str) -> Array:
    """Return a file's bytes, mapped into memory; writes are private unless the options say MAP_SHARED."""
    shared = OPTIONS.mmap_flags == getattr(mmap_module, "MAP_SHARED", None)
    with open(path, "r+b" if shared else "rb") as file:
        access = mmap_module.ACCESS_WRITE if shared else mmap_module.ACCESS_COPY
        return np.frombuffer(mmap_module.mmap(file.fileno(), 0, access=access), np.uint8)


class StorageReader:
    """Reads the storages that a pickle of an archive names: ``persistent_load`` of its unpickler.

    ``folder`` holds their records, ``data/`` in files of torch.save. One reader returns the same storage for the same key, so that pickles
    that it serves share memory.
    """

    def __init__(self, reader: ZipReader, map_location: Any, mapped: Array | None = None) -> None:
        self._reader, self._mapped = reader, mapped
        self._restore = restorer(map_location)
        self._byteorder = fallback_byteorder()
        if reader.has("byteorder"):
            self._byteorder = reader.read("byteorder", limit=16).decode("ascii", "replace")
            if self._byteorder not in ("little", "big"):
                raise ValueError("Unknown endianness type: " + self._byteorder)
        self._loaded: dict[Any, LoadedStorage] = {}
        self._served: dict[Any, Any] = {}

    def _read(self, name: str, nbytes: int) -> Array:
        reader = self._reader
        if LOCAL.skip_data:
            return np.zeros(nbytes, np.uint8)
        size = reader.size(name)
        if size != nbytes:
            raise RuntimeError(f"record size ({size} bytes) does not match expected size ({nbytes} bytes)")
        if self._mapped is not None and nbytes and reader.is_stored(name):
            start = reader.offset(name)
            return self._mapped[start : start + nbytes]
        data = reader.read_into(name, np.empty(0, np.uint8))
        if LOCAL.progress is not None:
            LOCAL.progress.done += nbytes
        return data

    def of_data(self, pid: tuple[int | str | StorageType, ...]) -> Any:
        """Return the storage of a persistent id, whose record is in ``data/``."""
        return self.storage(pid, "data")

    def storage(self, pid: tuple[int | str | StorageType, ...], folder: str) -> Any:
        """Return the storage of a persistent id, whose record is in a folder. Raise UnpicklingError for a malformed id."""
        if not isinstance(pid, tuple) or len(pid) != 5:
            raise UnpicklingError(f"saved_id must be a tuple of five, got {brief(pid)}")
        kind, storage_type, key, location, count = pid
        if kind not in ("storage", b"storage") or not isinstance(storage_type, StorageType):
            raise UnpicklingError(f"Unknown typename for persistent_load, expected 'storage' but got {brief(pid[:2])}")
        if not isinstance(key, (str, bytes)) or type(count) is not int or count < 0:
            raise UnpicklingError(f"a storage's persistent id in the file is malformed: {brief(pid)}")
        dtype, name = storage_type.dtype_name, f"{folder}/{key!s}"
        if name not in self._loaded:
            data = self._read(name, count * ITEMSIZE[dtype or "uint8"])
            if self._byteorder != sys.byteorder:
                swap_bytes(data, dtype)
            place = location.decode("ascii") if isinstance(location, bytes) else location
            if not isinstance(place, str):
                raise UnpicklingError(f"a storage's location in the file is no text: {brief(location)}")
            storage = self._restore(LoadedStorage(data), place)
            if not isinstance(storage, LoadedStorage):
                raise TypeError(f"map_location must return a storage or None, but got {type(storage)}")
            self._loaded[name] = storage
        if (name, dtype) not in self._served:
            self._served[name, dtype] = handed_out(TypedRef(self._loaded[name], dtype))
        return self._served[name, dtype]


def load(reader: ZipReader, map_location: Any, pickle_module: Any, weights_only: bool, options: dict[str, Any],
         mapped: Array | None) -> Any:  # fmt: skip
    """Load the object of an archive. Raise RuntimeError or UnpicklingError if it is damaged."""
    storages = StorageReader(reader, map_location, mapped)
    data = io.BytesIO(reader.read("data.pkl"))
    if weights_only:
        unpickler: Any = Unpickler(data, encoding=options.get("encoding", "utf-8"))
        unpickler.persistent_load = storages.of_data
    else:
        unpickler = full_unpickler(pickle_module, storages.of_data)(data, **options)
    before, LOCAL.map_location = LOCAL.map_location, map_location
    try:
        return unpickler.load()
    finally:
        LOCAL.map_location = before


def is_torchscript(reader: ZipReader) -> bool:
    """Return whether an archive holds a TorchScript program."""
    return reader.has("constants.pkl")
