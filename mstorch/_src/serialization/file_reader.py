"""torch.PyTorchFileReader and -Writer: access to the records of a file that torch.save writes."""
from __future__ import annotations

import contextlib
import os
from typing import IO, Any

from .atomic import replacing
from .zipfile_format import ZipReader, ZipWriter, archive_name


class PyTorchFileReader:
    """Reads the records of an archive, given by path or as an open file."""

    def __init__(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        if isinstance(file, (str, os.PathLike)):
            try:
                self._file: Any = open(file, "rb")  # closed with the reader
            except OSError as error:
                raise RuntimeError(
                    f"open file failed because of errno {error.errno} on fopen: {error.strerror}, file path: {os.fspath(file)}"
                ) from None
        else:
            self._file = file
        self._owned = self._file is not file
        self._reader = ZipReader(self._file)

    def get_record(self, name: str) -> bytes:
        """Return a record's bytes. Raise RuntimeError if it does not exist."""
        if not self._reader.has(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found.")
        return bytes(self._reader.read(name))

    def has_record(self, name: str) -> bool:
        """Return whether a record exists."""
        return self._reader.has(name)

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return self._reader.names()

    def get_record_size(self, name: str) -> int:
        """Return a record's length in bytes."""
        return self._reader.size(name)

    def get_record_offset(self, name: str) -> int:
        """Return the offset of a record's bytes in the file."""
        return self._reader.offset(name)

    def __del__(self) -> None:
        if getattr(self, "_owned", False):
            self._file.close()


class PyTorchFileWriter:
    """Writes the records of an archive to a path, which is replaced at the end, or to an open file."""

    def __init__(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        self._ending = contextlib.ExitStack()
        if isinstance(file, (str, os.PathLike)):
            path = os.path.abspath(os.fspath(file))
            target: Any = self._ending.enter_context(replacing(path))
            self._name = archive_name(path)
        elif callable(getattr(file, "write", None)):
            target, self._name = file, "archive"
        else:
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        self._writer = ZipWriter(target, self._name)

    def archive_name(self) -> str:
        """Return the name of the archive's root folder."""
        return self._name

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write ``size`` bytes of a str, bytes or storage as a record."""
        if isinstance(data, str):
            data = data.encode()
        elif hasattr(data, "untyped"):
            data = data.untyped()._bytes()
        self._writer.record(name, memoryview(data).cast("B")[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Write a record of zeros, as room for its content."""
        self._writer.record(name, bytes(size), skip=True)

    def write_end_of_file(self) -> None:
        """Write the central directory, and replace the file at the path."""
        self._writer.close()
        self._ending.close()
