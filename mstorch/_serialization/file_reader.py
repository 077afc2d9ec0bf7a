"""torch.PyTorchFileReader: the records of a file that torch.save wrote."""
from __future__ import annotations

import os
from typing import IO, Any

from .zipfile_format import ZipReader


class PyTorchFileReader:
    """Reads the records of an archive: of a file by its path, or of an open one."""

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
        """A record's bytes; RuntimeError if there is none of that name."""
        if not self._reader.has(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found.")
        return bytes(self._reader.read(name))

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return self._reader.has(name)

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._reader.names()

    def get_record_size(self, name: str) -> int:
        """A record's length in bytes."""
        return self._reader.size(name)

    def __del__(self) -> None:
        if getattr(self, "_owned", False):
            self._file.close()
