"""The locked table of keys, values and queues behind all stores: bytes in, bytes out."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence


class Late(Exception):
    """Raised when keys are not set in time."""


class NoRequest(Exception):
    """Raised for bytes that are not a valid request to a table."""


# The minimum and maximum number of arguments after the key and the timeout, of operations whose number is not 1.
_MANY = 1 << 17
_COUNTS = {
    "set": (2, 2), "add": (2, 2), "append": (2, 2), "compare_set": (3, 3), "check": (0, _MANY), "wait": (0, _MANY), "num_keys": (0, 0),
    "list_keys": (0, 0), "queue_push": (2, 2),
}  # fmt: skip


class Table:
    """The contents of a store. Each operation takes a timeout in seconds and a list of bytes, and returns a list of bytes."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self._queues: dict[bytes, deque[bytes]] = {}
        self._lock = threading.RLock()  # use ``with`` on this lock: entering the Condition can be interrupted after locking
        self._changed = threading.Condition(self._lock)
        self._operations: dict[str, Callable[[float, list[bytes]], list[bytes]]] = {
            name: getattr(self, f"_{name}")
            for name in ("set", "get", "add", "append", "compare_set", "check", "wait", "delete_key", "num_keys", "list_keys",
                         "queue_push", "queue_pop", "queue_pop_now", "queue_len")
        }  # fmt: skip

    def ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        """Carry out an operation. Raise Late on a timeout, ValueError for a counter that is not a number."""
        with self._lock:
            return self._operations[name](seconds, args)

    def request(self, parts: list[bytes]) -> tuple[str, float, list[bytes]]:
        """Parse byte strings into (operation, seconds, arguments). Raise NoRequest if they are invalid."""
        try:
            name, seconds, args = parts[0].decode("ascii"), float(parts[1]), parts[2:]
        except (IndexError, ValueError):
            raise NoRequest("no operation") from None
        least, most = _COUNTS.get(name, (1, 1))
        if name not in self._operations or not least <= len(args) <= most or seconds != seconds:
            raise NoRequest(f"{name[:20]!r} of {len(args)}")
        return name, min(seconds, threading.TIMEOUT_MAX), args

    def _there(self, key: bytes) -> bool:
        return key in self.values or bool(self._queues.get(key))

    def _until(self, seconds: float, ready: Callable[[], bool]) -> None:
        if not self._changed.wait_for(ready, seconds):
            raise Late

    def _put(self, key: bytes, value: bytes) -> None:
        self.values[key] = value
        self._changed.notify_all()

    def _set(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._put(*args)
        return []

    def _get(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._until(seconds, lambda: args[0] in self.values)
        return [self.values[args[0]]]

    def _add(self, seconds: float, args: list[bytes]) -> list[bytes]:
        total = b"%d" % (int(self.values.get(args[0], b"0")) + int(args[1]))
        self._put(args[0], total)
        return [total]

    def _append(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._put(args[0], self.values.get(args[0], b"") + args[1])
        return []

    def _compare_set(self, seconds: float, args: list[bytes]) -> list[bytes]:
        key, before, after = args
        if self.values.get(key, b"") == before:
            self._put(key, after)
        return [self.values.get(key, before)]

    def _check(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return _truth(all(map(self._there, args)))

    def _wait(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._until(seconds, lambda: all(map(self._there, args)))
        return []

    def _delete_key(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return _truth(self.values.pop(args[0], None) is not None)

    def _num_keys(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return [b"%d" % len(self.values)]

    def _list_keys(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return list(self.values)

    def _queue_push(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._queues.setdefault(args[0], deque()).append(args[1])
        self._changed.notify_all()
        return []

    def _queue_pop(self, seconds: float, args: list[bytes]) -> list[bytes]:
        self._until(seconds, lambda: bool(self._queues.get(args[0])))
        return [self._queues[args[0]].popleft()]

    def _queue_pop_now(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return [self._queues[args[0]].popleft()] if self._queues.get(args[0]) else []

    def _queue_len(self, seconds: float, args: list[bytes]) -> list[bytes]:
        return [b"%d" % len(self._queues.get(args[0], ()))]


def _truth(value: bool) -> list[bytes]:
    return [b"1" if value else b"0"]


def pack(parts: Sequence[bytes]) -> bytes:
    """Join byte strings into one: first their count, then each string preceded by its length."""
    pieces = [len(parts).to_bytes(4, "little")]
    for part in parts:
        pieces += [len(part).to_bytes(8, "little"), part]
    return b"".join(pieces)


MOST_BYTES = 1 << 23  # maximum size of an argument that a server accepts


def unpack(read: Callable[[int], bytes], most: int | None = None, first: tuple[bytes, ...] = ()) -> list[bytes]:
    """Return the byte strings that ``pack`` joined; ``read(n)`` returns the next n bytes. Raise NoRequest for a string longer than ``most``
    bytes, for more than four times that in all, or for a first string that is not in ``first``, whose entries have one length.
    """
    count, left = int.from_bytes(read(4), "little"), None if most is None else 4 * most
    if left is not None and count > _MANY:
        raise NoRequest(f"{count} byte strings")
    found: list[bytes] = []
    for _ in range(count):
        size = int.from_bytes(read(8), "little")
        if most is not None and left is not None:
            left -= size + 8
            if size > most or left < 0:
                raise NoRequest(f"{size} bytes")
        if first and not found and size != len(first[0]):
            raise NoRequest(f"{size} bytes")
        found.append(read(size))
        if first and found[0] not in first:
            raise NoRequest(f"{found[0]!r}")
    if first and not found:
        raise NoRequest("nothing")
    return found
