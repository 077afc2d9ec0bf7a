"""Keys and values that threads and processes share, with waiting, counters and queues: the base, HashStore, PrefixStore."""
from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ._table import Late, Table
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
    """The base of stores. ``_ask`` of the store at the root carries operations out; ``_full`` gives a key's whole name."""

    def __init__(self) -> None:
        raise TypeError("mstorch: torch.distributed.Store is a base; TCPStore, FileStore, HashStore and PrefixStore are stores")

    _timeout: timedelta

    @property
    def _root(self) -> Store:
        """The store that has the keys: no attribute, so that a store ends, and its server, with the last name for it."""
        return self

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        raise NotImplementedError

    def _late(self, name: str, seconds: float, keys: list[bytes]) -> Exception:
        """Return the error of keys that did not come in time."""
        return DistStoreError("Wait timeout")

    def _full(self, key: Any, what: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"{what}(): incompatible function arguments. Invoked with: {key!r}")
        return key

    def _do(self, name: str, keys: Sequence[Any], *args: bytes, timeout: timedelta | None = None, what: str = "") -> list[bytes]:
        names = [self._full(key, what or name).encode() for key in keys]
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        try:
            return self._root._ask(name, seconds, [*names, *args])
        except Late:
            raise self._root._late(name, seconds, names) from None

    @property
    def timeout(self) -> timedelta:
        """How long a missing key is waited for."""
        return self._root._timeout

    def set_timeout(self, timeout: timedelta, /) -> None:
        """Set how long a missing key is waited for."""
        self._root._timeout = timeout

    def set(self, key: str, value: str | bytes, /) -> None:
        """Give a key a value."""
        self._do("set", [key], _bytes(value, "set"))

    def get(self, key: str, /) -> bytes:
        """Return the value of a key. Waits for it; raise DistStoreError when it does not come in time."""
        return self._do("get", [key])[0]

    def add(self, key: str, amount: int, /) -> int:
        """Add to a counter, at first 0, and return it. Raise ValueError for a value that is no number."""
        if not isinstance(amount, int):
            raise TypeError(f"add(): incompatible function arguments. Invoked with: {key!r}, {amount!r}")
        try:
            return int(self._do("add", [key], b"%d" % amount)[0])
        except ValueError:
            raise ValueError("stoll") from None

    def append(self, key: str, value: str | bytes, /) -> None:
        """Put bytes behind those of a key."""
        self._do("append", [key], _bytes(value, "append"))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        """Replace the expected value (of a new key: nothing) by the desired one; returns the value then, or what was expected."""
        return self._do("compare_set", [key], _bytes(expected, "compare_set"), _bytes(desired, "compare_set"))[0]

    def check(self, keys: Sequence[str], /) -> bool:
        """Return whether all keys, or queues with something in them, are there."""
        return self._do("check", keys) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        """Wait until all keys are there. Raise DistStoreError when they do not come in time."""
        self._do("wait", keys, timeout=timeout)

    def delete_key(self, key: str, /) -> bool:
        """Take a key away; tells whether it was there."""
        return self._do("delete_key", [key]) == [b"1"]

    def num_keys(self) -> int:
        """Return the number of keys, those of all prefixes together."""
        return int(self._do("num_keys", [])[0])

    def list_keys(self) -> list[str]:
        """Return the keys, without the prefix."""
        start = self._full("", "list_keys")
        return [name[len(start) :] for name in (key.decode() for key in self._do("list_keys", [])) if name.startswith(start)]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        """``set`` for each pair."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """``get`` for each key."""
        return [self.get(key) for key in keys]

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Put a value at a queue's end."""
        self._do("queue_push", [key], _bytes(value, "queue_push"))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take a queue's first value. Waits for one, DistStoreError when none comes; without ``block`` QueueEmptyError."""
        if block:
            return self._do("queue_pop", [key])[0]
        found = self._do("queue_pop_now", [key], what="queue_pop")
        if not found:
            raise QueueEmptyError("queue is empty")
        return found[0]

    def queue_len(self, key: str, /) -> int:
        """Return how many values a queue has."""
        return int(self._do("queue_len", [key])[0])

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until ``world_size`` callers have come with the key. Raise DistStoreError when they do not come in time."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout).total_seconds()
        if self.add(key, 1) == world_size:
            self.set(f"{key}/last", "1")
        self.wait([f"{key}/last"], timedelta(seconds=max(deadline - time.monotonic(), 0)))

    def has_extended_api(self) -> bool:
        """Return whether ``append``, ``multi_get`` and ``multi_set`` take one step each."""
        return True

    def clone(self) -> Store:
        """Return a store with the same keys; a connection of its own where there are connections."""
        return self


class HashStore(Store):
    """A store in this process's memory; a missing key is waited for 5 minutes."""

    def __init__(self) -> None:
        self._table = Table()
        self._timeout = timedelta(minutes=5)

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        return self._table.ask(name, seconds, args)


class PrefixStore(Store):
    """A view of another store: ``prefix/`` stands before every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(prefix, str) or not isinstance(store, Store):
            raise TypeError(f"__init__(): incompatible constructor arguments. Invoked with: {prefix!r}, {store!r}")
        self._prefix, self._store = prefix, store

    @property
    def _root(self) -> Store:
        return self._store._root

    def _full(self, key: Any, what: str) -> str:
        return self._store._full(f"{self._prefix}/{super()._full(key, what)}", what)

    @property
    def underlying_store(self) -> Store:
        """The store that it is a view of."""
        return self._store

    def has_extended_api(self) -> bool:
        """Return whether ``append``, ``multi_get`` and ``multi_set`` take one step each."""
        return self._store.has_extended_api()

    def clone(self) -> Store:
        """Return a view of a clone of the store."""
        return PrefixStore(self._prefix, self._store.clone())
