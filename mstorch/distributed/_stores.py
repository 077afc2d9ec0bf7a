"""Keys and values that the threads of a process share, with waiting, counters and queues."""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ._types import DistStoreError


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing to give."""


def _bytes(value: Any, what: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{what}(): incompatible function arguments. Invoked with: {value!r}")


class Store:
    """The base of stores: what others are made of ``_entries()``, their values, and ``_full``, a key's whole name."""

    def __init__(self) -> None:
        raise TypeError("mstorch: torch.distributed.Store is a base; HashStore and PrefixStore are stores")

    _root: HashStore

    def _full(self, key: Any, what: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"{what}(): incompatible function arguments. Invoked with: {key!r}")
        return key

    def _until(self, ready: Callable[[], bool], timeout: timedelta | None = None) -> None:
        """Wait, holding the lock, for a condition. DistStoreError when it does not come in time."""
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        if not self._root._changed.wait_for(ready, seconds):
            raise DistStoreError("Wait timeout")

    @property
    def timeout(self) -> timedelta:
        """How long a missing key is waited for."""
        return self._root._timeout

    def set_timeout(self, timeout: timedelta, /) -> None:
        """Set how long a missing key is waited for."""
        self._root._timeout = timeout

    def set(self, key: str, value: str | bytes, /) -> None:
        """Give a key a value."""
        name, content = self._full(key, "set"), _bytes(value, "set")
        with self._root._changed:
            self._root._values[name] = content
            self._root._changed.notify_all()

    def get(self, key: str, /) -> bytes:
        """The value of a key. Waits for it; DistStoreError when it does not come in time."""
        name = self._full(key, "get")
        with self._root._changed:
            self._until(lambda: name in self._root._values)
            return self._root._values[name]

    def add(self, key: str, amount: int, /) -> int:
        """Add to a counter, at first 0, and return it. ValueError for a value that is no number."""
        name = self._full(key, "add")
        if not isinstance(amount, int):
            raise TypeError(f"add(): incompatible function arguments. Invoked with: {key!r}, {amount!r}")
        with self._root._changed:
            try:
                total = int(self._root._values.get(name, b"0")) + amount
            except ValueError:
                raise ValueError("stoll") from None
            self._root._values[name] = str(total).encode()
            self._root._changed.notify_all()
        return total

    def append(self, key: str, value: str | bytes, /) -> None:
        """Put bytes behind those of a key."""
        name, content = self._full(key, "append"), _bytes(value, "append")
        with self._root._changed:
            self._root._values[name] = self._root._values.get(name, b"") + content
            self._root._changed.notify_all()

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        """Replace the expected value (of a new key: nothing) by the desired one; returns the value then, or what was expected."""
        name, before, after = self._full(key, "compare_set"), _bytes(expected, "compare_set"), _bytes(desired, "compare_set")
        with self._root._changed:
            values = self._root._values
            if values.get(name, b"") == before:
                values[name] = after
                self._root._changed.notify_all()
            return values.get(name, before)

    def check(self, keys: Sequence[str], /) -> bool:
        """Whether all keys, or queues with something in them, are there."""
        names = [self._full(key, "check") for key in keys]
        with self._root._changed:
            return all(map(self._root._there, names))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        """Wait until all keys are there. DistStoreError when they do not come in time."""
        names = [self._full(key, "wait") for key in keys]
        with self._root._changed:
            self._until(lambda: all(map(self._root._there, names)), timeout)

    def delete_key(self, key: str, /) -> bool:
        """Take a key away; tells whether it was there."""
        name = self._full(key, "delete_key")
        with self._root._changed:
            return self._root._values.pop(name, None) is not None

    def num_keys(self) -> int:
        """The number of keys, those of all prefixes together."""
        with self._root._changed:
            return len(self._root._values)

    def list_keys(self) -> list[str]:
        """The keys, without the prefix."""
        start = self._full("", "list_keys")
        with self._root._changed:
            return [name[len(start) :] for name in self._root._values if name.startswith(start)]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        """``set`` for each pair."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """``get`` for each key."""
        return [self.get(key) for key in keys]

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Put a value at a queue's end."""
        name, content = self._full(key, "queue_push"), _bytes(value, "queue_push")
        with self._root._changed:
            self._root._queues.setdefault(name, deque()).append(content)
            self._root._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take a queue's first value. Waits for one, DistStoreError when none comes; without ``block`` QueueEmptyError."""
        name = self._full(key, "queue_pop")
        with self._root._changed:
            if not block and not self._root._queues.get(name):
                raise QueueEmptyError("queue is empty")
            self._until(lambda: bool(self._root._queues.get(name)))
            return self._root._queues[name].popleft()

    def queue_len(self, key: str, /) -> int:
        """How many values a queue has."""
        name = self._full(key, "queue_len")
        with self._root._changed:
            return len(self._root._queues.get(name, ()))

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until ``world_size`` threads have called it with the key. DistStoreError when they do not come in time."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout).total_seconds()
        if self.add(key, 1) == world_size:
            self.set(f"{key}/last", "1")
        self.wait([f"{key}/last"], timedelta(seconds=max(deadline - time.monotonic(), 0)))

    def has_extended_api(self) -> bool:
        """True: ``append``, ``multi_get`` and ``multi_set`` are there."""
        return True

    def clone(self) -> Store:
        """The same store."""
        return self


class HashStore(Store):
    """A store in this process's memory; a missing key is waited for 5 minutes."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()
        self._timeout = timedelta(minutes=5)
        self._root = self

    def _there(self, name: str) -> bool:
        return name in self._values or bool(self._queues.get(name))


class PrefixStore(Store):
    """A view of another store: ``prefix/`` stands before every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(prefix, str) or not isinstance(store, Store):
            raise TypeError(f"__init__(): incompatible constructor arguments. Invoked with: {prefix!r}, {store!r}")
        self._prefix, self._store, self._root = prefix, store, store._root

    def _full(self, key: Any, what: str) -> str:
        return self._store._full(f"{self._prefix}/{super()._full(key, what)}", what)

    @property
    def underlying_store(self) -> Store:
        """The store that it is a view of."""
        return self._store
