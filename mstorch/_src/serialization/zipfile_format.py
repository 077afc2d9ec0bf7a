"""torch's zip archives: uncompressed records at addresses that are multiples of 64."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from mstorch._src.serialization.options import OPTIONS

from ..backend.arrays import Array
from .checksum import descriptor_of, fill, room_for

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
_MAX32 = 0xFFFFFFFF
_UTF8 = 0x0800
_SIZES_FOLLOW = 0x0008
_CORRUPT = (
    " This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint file "
    "is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the file was "
    "modified after saving."
)
# The version record of archives that torch writes, and the highest version that it reads.
_WRITTEN_VERSION, _MAX_VERSION = b"3\n", 10


def write_all(file: Any, data: Any) -> None:
    """Write all bytes, even to an unbuffered file, which may accept fewer at a time."""
    view = memoryview(data).cast("B") if len(data) else memoryview(b"")
    while view.nbytes:
        written = file.write(view)
        if not isinstance(written, int) or written >= view.nbytes:
            return
        view = view[written:]


class ZipWriter:
    """Writes records in the layout of torch's own writer, so that offsets can be computed from sizes alone.

    A record is a local header without sizes, padding in an extra field "FB", the data, then a descriptor with the sizes. Nothing is written
    twice, so that any object with ``write`` is accepted.
    """

    def __init__(self, file: Any, archive_name: str):
        self._file = file
        self._archive = archive_name
        self._ms_at = 0
        self._central: list[bytes] = []
        self._names: list[str] = []
        self._checks = 0

    def _write(self, data: Array | bytes) -> None:
        write_all(self._file, data)
        self._ms_at += len(data)

    def record(self, name: str, data: Any, skip: bool = False) -> None:
        """Write a record; with ``skip``, zeros of its size."""
        raw = f"{self._archive}/{name}".encode()
        size, start = len(data), self._ms_at
        crc = zlib.crc32(data) if OPTIONS.compute_crc32 and not skip else 0
        wide = b""
        if size >= _MAX32:
            wide += struct.pack("<QQ", size, size)
        if start >= _MAX32:
            wide += struct.pack("<Q", start)
        if wide:
            wide = struct.pack("<HH", 1, len(wide)) + wide
        begin = start + _LOCAL_HEADER.size + len(raw) + len(wide) + 4
        padding = -begin % OPTIONS.storage_alignment
        extra = wide + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        flags = _UTF8 | (_SIZES_FOLLOW if size else 0)
        self._write(_LOCAL_HEADER.pack(b"PK\x03\x04", 0, flags, 0, 0, 0, 0, 0, 0, len(raw), len(extra)) + raw + extra)
        if skip:
            for done in range(0, size, 1 << 20):
                self._write(bytes(min(1 << 20, size - done)))
        else:
            self._write(data)
        if size:
            self._write(struct.pack("<4sIQQ" if wide else "<4sIII", b"PK\x07\x08", crc, size, size))
        short_size, short_start = min(size, _MAX32), min(start, _MAX32)
        self._central.append(
            _CENTRAL_HEADER.pack(b"PK\x01\x02", 0, 0, flags, 0, 0, 0, crc, short_size, short_size, len(raw), len(wide),
                                 0, 0, 0, 0, short_start) + raw + wide
        )  # fmt: skip
        self._names.append(name)
        self._checks = zlib.crc32(struct.pack("<I", crc), self._checks)

    def close(self, version: bytes = _WRITTEN_VERSION) -> None:
        """Write the version, the file's serialization id and the central directory."""
        self.record("version", version)
        names = hashlib.blake2b("\n".join(self._names).encode(), digest_size=8).digest()
        self.record(".data/serialization_id", b"%020d%020d" % (int.from_bytes(names, "little"), self._checks))
        begin, count = self._ms_at, len(self._central)
        self._write(b"".join(self._central))
        size, end = self._ms_at - begin, self._ms_at
        self._write(struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 0x031E, 45, 0, 0, count, count, size, begin))
        self._write(struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1))
        self._write(
            struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                        min(size, _MAX32), min(begin, _MAX32), 0)
        )  # fmt: skip


def archive_name(path: str | None) -> str:
    """Return the archive's root folder: the file's name without its last suffix, or 'archive' for a file without a name."""
    stem = os.path.basename(path or "").rpartition(".")
    name = stem[0] or (stem[2] if not stem[1] else "")
    return name if name and name.isascii() else "archive"


def looks_like_zip(file: IO[bytes]) -> bool:
    """Return whether the file starts like a zip archive; the file's position is restored."""
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return magic == b"PK\x03\x04"


def _failed(what: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed {what}.{_CORRUPT}")


class ZipReader:
    """Reads the records of an archive. Raises RuntimeError if it is truncated or damaged."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        try:
            start = file.tell()
            self._end = file.seek(0, io.SEEK_END)
            file.seek(start)
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, struct.error, NotImplementedError) as error:
            raise _failed(f"reading zip archive: failed finding central directory ({error})") from error
        except OSError as error:
            # A damaged directory can contain a negative address.
            if error.errno not in (errno.EINVAL, None):
                raise
            raise _failed(f"reading zip archive: failed finding central directory ({error})") from error
        entries = self._zip.infolist()
        first = entries[0].filename if entries else ""
        if "/" not in first:
            raise RuntimeError(f"file in archive is not in a subdirectory: {first}")
        self._prefix = first.split("/", 1)[0] + "/"
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            if entry.filename in self._entries:
                raise _failed(f"reading zip archive: the record {entry.filename} is there twice")
            self._entries[entry.filename] = entry
        self._check_version()

    def _check_version(self) -> None:
        name = ".data/version" if self.has(".data/version") else "version"
        if not self.has(name):
            raise RuntimeError('Expected hasRecord("version") to be true, but got false.')
        text = self.read(name, limit=100)
        try:
            version = int(text)
        except ValueError as error:
            raise _failed(f"reading the version record {text!r}") from error
        if version > _MAX_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for reading "
                f"is {_MAX_VERSION}."
            )
        if version < 1:
            raise RuntimeError(f"Attempted to read a PyTorch file with version {version}, but the minimum is 1.")

    def has(self, name: str) -> bool:
        """Return whether a record exists."""
        return self._prefix + name in self._entries

    def _entry(self, name: str) -> zipfile.ZipInfo:
        found = self._entries.get(self._prefix + name)
        if found is None:
            raise _failed(f"locating file {name}: file not found")
        if found.flag_bits & 1:
            raise _failed(f"reading file {name}: it is encrypted")
        return found

    def names(self) -> list[str]:
        """Return the names of all records."""
        return [name.removeprefix(self._prefix) for name in self._entries]

    def offset(self, name: str) -> int:
        """Return the address of an uncompressed record's first byte. Raise RuntimeError if its header is damaged."""
        entry = self._entry(name)
        try:
            self._file.seek(entry.header_offset)
            header = self._file.read(_LOCAL_HEADER.size)
        except (ValueError, OSError, OverflowError) as error:
            raise _failed(f"reading file {name}: {error}") from error
        if len(header) != _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            raise _failed(f"reading file {name}: invalid local header")
        name_length, extra_length = struct.unpack_from("<HH", header, 26)
        written = self._file.read(name_length)
        if written != entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8 else "cp437", "surrogateescape"):
            raise _failed(f"reading file {name}: the local header belongs to another record")
        start = entry.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        if entry.compress_type == zipfile.ZIP_STORED and start + entry.file_size > self._end:
            raise _failed(f"reading file {name}: it reaches beyond the end of the file")
        return start

    def size(self, name: str) -> int:
        """Return a record's size in bytes."""
        return self._entry(name).file_size

    def compressed_size(self, name: str) -> int:
        """Return the number of bytes that a record takes in the file."""
        return self._entry(name).compress_size

    def is_stored(self, name: str) -> bool:
        """Return whether a record is uncompressed."""
        return self._entry(name).compress_type == zipfile.ZIP_STORED

    def read(self, name: str, limit: int | None = None) -> bytes:
        """Return a record. Raise RuntimeError if it is longer than ``limit`` or its checksum is wrong."""
        if limit is not None and self.size(name) > limit:
            raise _failed(f"reading file {name}: {self.size(name)} bytes where at most {limit} were expected")
        return self.read_into(name, np.empty(0, np.uint8)).tobytes()

    def read_into(self, name: str, empty: Array) -> Array:
        """Return a record as a new, writable uint8 array (``empty`` if the record is empty), with its checksum verified."""
        entry = self._entry(name)
        if entry.file_size == 0:
            return empty
        if entry.compress_type == zipfile.ZIP_STORED:
            if entry.compress_size != entry.file_size:
                raise _failed(f"reading file {name}: two sizes")
            start = self._file.seek(self.offset(name))
            data: Any = room_for(entry.file_size)
            if entry.CRC == 0:  # none was computed
                _fill(self._file, memoryview(data), name)
                return data
            checksum = fill(lambda view: _fill(self._file, view, name), data, descriptor_of(self._file), start)
            if checksum < 0:
                raise _failed(f"reading file {name}: the file ends in the middle of it")
        else:
            data = self._inflated(entry, name)
            checksum = zlib.crc32(data) if entry.CRC else 0
        if checksum != entry.CRC:
            raise _failed(f"reading file {name}: checksum mismatch, the bytes are not those that were written")
        return data

    def _inflated(self, entry: zipfile.ZipInfo, name: str) -> Array:
        pieces = []
        try:
            with self._zip.open(entry) as stream:
                while piece := stream.read(1 << 20):
                    pieces.append(piece)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError) as error:
            raise _failed(f"reading file {name}: {error}") from error
        data = np.frombuffer(bytearray().join(pieces), np.uint8)
        if data.size != entry.file_size:
            raise _failed(f"reading file {name}: {data.size} bytes where {entry.file_size} were expected")
        return data


def _fill(file: Any, view: memoryview, name: str) -> None:
    done, size = 0, len(view)
    while done < size:
        if hasattr(file, "readinto"):
            count = file.readinto(view[done:])
        else:
            piece = file.read(size - done)
            count = len(piece)
            view[done : done + count] = piece
        if not count:
            raise _failed(f"reading file {name}: the file ends in the middle of it")
        done += count
