"""Key-value stores that threads and processes share, with waiting, counters and queues: the base, HashStore, PrefixStore."""
from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ._table import Late, Table
from ._types import DistStoreError


class QueueEmptyError(DistStoreError):
    """Raised when a store's queue is empty."""


def _bytes(value: int | str | bytes, what: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{what}(): incompatible function arguments. Invoked with: {value!r}")


class Store:
    """The base of stores. ``_ask`` of the root store carries out operations; ``_full`` returns a key with its prefixes."""

    def __init__(self) -> None:
        raise TypeError("mstorch: torch.distributed.Store is a base; TCPStore, FileStore, HashStore and PrefixStore are stores")

    _timeout: timedelta

    @property
    def _root(self) -> Store:
        """The store that holds the keys. It is a method, not an attribute, so that a store and its server end with the last reference to
        the store.
        """
        return self

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        raise NotImplementedError

    def _late(self, name: str, seconds: float, keys: list[bytes]) -> Exception:
        """Return the timeout error for keys that were not set in time."""
        return DistStoreError("Wait timeout")

    def _full(self, key: str, what: str) -> str:
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
        """The timeout for missing keys."""
        return self._root._timeout

    def set_timeout(self, timeout: timedelta, /) -> None:
        """Set the timeout for missing keys."""
        self._root._timeout = timeout

    def set(self, key: str, value: str | bytes, /) -> None:
        """Set the value of a key."""
        self._do("set", [key], _bytes(value, "set"))

    def get(self, key: str, /) -> bytes:
        """Return the value of a key, waiting for it. Raise DistStoreError on a timeout."""
        return self._do("get", [key])[0]

    def add(self, key: str, amount: int, /) -> int:
        """Add to a counter, which starts at 0, and return it. Raise ValueError if the value is not a number."""
        if not isinstance(amount, int):
            raise TypeError(f"add(): incompatible function arguments. Invoked with: {key!r}, {amount!r}")
        try:
            return int(self._do("add", [key], b"%d" % amount)[0])
        except ValueError:
            raise ValueError("stoll") from None

    def append(self, key: str, value: str | bytes, /) -> None:
        """Append bytes to the value of a key."""
        self._do("append", [key], _bytes(value, "append"))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes, /) -> bytes:
        """Set a key to ``desired`` if its value equals ``expected`` (empty: a new key); return the resulting value, or ``expected`` for a
        missing key.
        """
        return self._do("compare_set", [key], _bytes(expected, "compare_set"), _bytes(desired, "compare_set"))[0]

    def check(self, keys: Sequence[str], /) -> bool:
        """Return whether all keys, or nonempty queues of these names, exist."""
        return self._do("check", keys) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None, /) -> None:
        """Wait until all keys are set. Raise DistStoreError on a timeout."""
        self._do("wait", keys, timeout=timeout)

    def delete_key(self, key: str, /) -> bool:
        """Delete a key; return whether the key existed."""
        return self._do("delete_key", [key]) == [b"1"]

    def num_keys(self) -> int:
        """Return the number of keys, under all prefixes."""
        return int(self._do("num_keys", [])[0])

    def list_keys(self) -> list[str]:
        """Return the keys, without the prefix."""
        start = self._full("", "list_keys")
        return [name[len(start) :] for name in (key.decode() for key in self._do("list_keys", [])) if name.startswith(start)]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes], /) -> None:
        """Call ``set`` for each pair."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str], /) -> list[bytes]:
        """Return a list of ``get`` of each key."""
        return [self.get(key) for key in keys]

    def queue_push(self, key: str, value: str | bytes, /) -> None:
        """Append a value to a queue."""
        self._do("queue_push", [key], _bytes(value, "queue_push"))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Remove and return a queue's first value. Raise DistStoreError if none comes in time; without ``block``, QueueEmptyError at once.
        """
        if block:
            return self._do("queue_pop", [key])[0]
        found = self._do("queue_pop_now", [key], what="queue_pop")
        if not found:
            raise QueueEmptyError("queue is empty")
        return found[0]

    def queue_len(self, key: str, /) -> int:
        """Return the length of a queue."""
        return int(self._do("queue_len", [key])[0])

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until ``world_size`` callers have arrived at ``key``. Raise DistStoreError on a timeout."""
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout).total_seconds()
        if self.add(key, 1) == world_size:
            self.set(f"{key}/last", "1")
        self.wait([f"{key}/last"], timedelta(seconds=max(deadline - time.monotonic(), 0)))

    def has_extended_api(self) -> bool:
        """Return whether ``append``, ``multi_get`` and ``multi_set`` are single requests."""
        return True

    def clone(self) -> Store:
        """Return a store with the same keys, with its own connection if the store is remote."""
        return self


class HashStore(Store):
    """A store in this process's memory, with a timeout of 5 minutes for missing keys."""

    def __init__(self) -> None:
        self._table = Table()
        self._timeout = timedelta(minutes=5)

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        return self._table.ask(name, seconds, args)


class PrefixStore(Store):
    """A view of another store that prepends ``prefix/`` to every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        if not isinstance(prefix, str) or not isinstance(store, Store):
            raise TypeError(f"__init__(): incompatible constructor arguments. Invoked with: {prefix!r}, {store!r}")
        self._prefix, self._store = prefix, store

    @property
    def _root(self) -> Store:
        return self._store._root

    def _full(self, key: str, what: str) -> str:
        return self._store._full(f"{self._prefix}/{super()._full(key, what)}", what)

    @property
    def underlying_store(self) -> Store:
        """The wrapped store."""
        return self._store

    def has_extended_api(self) -> bool:
        """Return whether ``append``, ``multi_get`` and ``multi_set`` are single requests."""
        return self._store.has_extended_api()

    def clone(self) -> Store:
        """Return a view of a clone of the store."""
        return PrefixStore(self._prefix, self._store.clone())
