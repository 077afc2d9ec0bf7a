"""FileStore: a store in a file to which several processes append, on one machine or on a shared file system."""
from __future__ import annotations

import fcntl
import functools
import os
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ._stores import Store
from ._table import Late, NoRequest, Table, pack, unpack

_PAUSE = 0.005  # seconds between two reads of the file
_OPENED, _CLOSED = b"efcount/", b"cl/"  # counters of the stores that have opened and closed the file
_FIRST = pack([_OPENED, b"1"])  # record
_WRITING = {"set", "add", "append", "compare_set", "delete_key"}
_NO_QUEUES = "queue support is not implemented."


class _Log:
    """The store's append-only file: each record is a key with its new value, or a key that was deleted."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.table = Table()
        self.position = 0
        self.held = open(path, "ab")  # keeps the file open, so that its inode is not reused

    def transact(self, work: Callable[[], list[bytes]]) -> list[bytes]:
        """Read other processes' records, run ``work`` on the table, and append the changes."""
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._recognize(file)
            self._catch_up(file)
            before = dict(self.table.values)
            try:
                found = work()
                after = self.table.values
                records = [[key, value] for key, value in after.items() if before.get(key) != value or key not in before]
                records += [[key] for key in before if key not in after]
                if records:
                    file.seek(0, os.SEEK_END)
                    file.write(b"".join(map(pack, records)))
                    file.flush()
                    self.position = file.tell()
            except BaseException:
                self.table.values.clear()  # it may contain values that were not written: read everything again
                self.position = 0
                raise
        return found

    def _recognize(self, file: Any) -> None:
        """Raise RuntimeError if the path now names another file, such as that of the next job."""
        if not os.path.samestat(os.fstat(file.fileno()), os.fstat(self.held.fileno())):
            raise RuntimeError(f"FileStore: {self.path} is another file than the one that this store opened")

    def look(self) -> None:
        """Read other processes' new records."""
        self.transact(list)

    def _catch_up(self, file: Any) -> None:
        """Read the records after the last position. An incomplete record at the end, from a process that died while writing, is truncated.
        """
        end = file.seek(0, os.SEEK_END)
        file.seek(self.position)
        while self.position < end:
            try:
                key, *value = unpack(functools.partial(_within, file, end))
                if len(value) > 1 or (self.position == 0 and key != _OPENED):
                    raise NoRequest("no record of a store")
            except (NoRequest, ValueError):
                if self.position == 0 and not _FIRST.startswith(_start(file)):
                    raise RuntimeError(f"FileStore: what {self.path} holds are not the keys of a store") from None
                file.truncate(self.position)
                break
            if value:
                self.table.values[key] = value[0]
            else:
                self.table.values.pop(key, None)
            self.position = file.tell()


def _start(file: Any) -> bytes:
    file.seek(0)
    return bytes(file.read(len(_FIRST) + 1))


def _within(file: Any, end: int, size: int) -> bytes:
    """Return the next ``size`` bytes of a file. Raise NoRequest if it ends before."""
    if size > end - file.tell():
        raise NoRequest("the file has ended")
    return bytes(file.read(size))


def _leave(log: _Log) -> None:
    """Remove this process from the count of users; the last process deletes the file."""
    try:
        if not os.path.exists(log.path):
            return
        log.transact(lambda: log.table.ask("add", 0, [_CLOSED, b"1"]))
        if log.table.values.get(_CLOSED) == log.table.values.get(_OPENED):
            os.unlink(log.path)
    except (OSError, RuntimeError):
        pass  # another process has deleted or replaced the file
    finally:
        log.held.close()


class FileStore(Store):
    """A store in a file, which the last process deletes. Raises RuntimeError for keys that are not set within the timeout."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self._timeout, self._world_size = timedelta(minutes=5), world_size
        self._log = _Log(os.path.abspath(file_name))
        try:
            self._log.transact(lambda: self._log.table.ask("add", 0, [_OPENED, b"1"]))
        except BaseException:
            self._log.held.close()
            raise
        weakref.finalize(self, _leave, self._log)

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._log.path

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        if name.startswith("queue"):
            raise NotImplementedError(_NO_QUEUES)
        table = self._log.table
        if name in _WRITING:
            return self._log.transact(lambda: table.ask(name, 0, args))
        deadline = time.monotonic() + seconds
        while True:
            self._log.look()
            try:
                return table.ask(name, 0, args)
            except Late:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)

    def _late(self, name: str, seconds: float, keys: list[bytes]) -> Exception:
        if name == "get":
            return RuntimeError(f"Timeout waiting for key: {keys[0].decode()} after {seconds * 1000:.0f} ms")
        return RuntimeError("Wait timeout")

    def delete_key(self, key: str, /) -> bool:
        """Delete a key. As in torch, return True even if it did not exist."""
        super().delete_key(key)
        return True

    def has_extended_api(self) -> bool:
        """False, as in torch: the extended operations are not supported."""
        return False
