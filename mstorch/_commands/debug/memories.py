"""Cached copies of tensors' memory: recognized by this process, and sent to torch's only once."""
from __future__ import annotations

import itertools
import pickle
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_LEAST = 4096  # bytes; smaller ones are sent each time
_MOST = 1 << 27  # number of bytes that are cached; the least recently used are dropped first


class Memory(bytes):
    """Bytes of a tensor's memory. As long as they do not change, copying the memory again returns the same object."""


class Recent:
    """Cache of the latest copy of each recently seen memory."""

    def __init__(self) -> None:
        self._copies: OrderedDict[Hashable, Memory] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def copy(self, place: Hashable, data: bytes) -> bytes:
        """Return the cached copy for an address if it holds these bytes, else the given bytes."""
        if not _LEAST <= len(data) <= _MOST:
            return data
        with self._lock:
            kept = self._copies.pop(place, None)
            if kept is None or kept != data:
                self._size += len(data) - (0 if kept is None else len(kept))
                kept = Memory(data)
            self._copies[place] = kept
            while self._size > _MOST:
                self._size -= len(self._copies.popitem(last=False)[1])
        return kept


class Sent:
    """Copies that the other process keeps, by number."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[int, tuple[Memory, int]] = OrderedDict()
        self._size = 0
        self._next = itertools.count()

    def reference(self, memory: Memory) -> tuple[int, Any, tuple[int, ...]]:
        """Return a copy's number, its bytes if they are new to the other process, and the numbers to forget."""
        found = self._numbers.get(id(memory))
        if found is not None:
            self._numbers.move_to_end(id(memory))
            return found[1], None, ()
        forgotten = []
        self._size += len(memory)
        while self._size > _MOST:
            old, number = self._numbers.popitem(last=False)[1]
            self._size -= len(old)
            forgotten.append(number)
        number = next(self._next)
        self._numbers[id(memory)] = memory, number
        return number, pickle.PickleBuffer(memory), tuple(forgotten)


class Pickler(pickle.Pickler):
    """Pickler that writes previously sent copies as numbers."""

    def __init__(self, file: Any, sent: Sent) -> None:
        super().__init__(file, protocol=5)
        self._sent = sent

    def persistent_id(self, value: Any) -> tuple[int, Any, tuple[int, ...]] | None:
        """Return the reference for cached bytes, or None to pickle the object as usual."""
        return self._sent.reference(value) if type(value) is Memory else None
