"""Batches of workers in shared memory. A worker writes a batch to a part of its own block. The main process maps the block, too, and uses
the part as the batch's storage. Once that storage is freed, a later task tells the worker that the part is free.
"""

from __future__ import annotations

import io
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.core.shared import Block
from ..._src.core.storage import FIXED, Storage
from ..._src.leaving import built_in_call
from ..._tensor import Tensor
from ...multiprocessing.reductions import reduce_storage, reduce_tensor
from ...nn.parameter import Parameter
from ...storage import TypedStorage, UntypedStorage, untyped_of, untyped_over

SIZE = 1 << 30
"""Size of a worker's block in bytes of address space; memory is taken only for the pages that are written."""
_LEAST = 1 << 16  # the least size in bytes of a storage that is sent in shared memory
_PAGE = 1 << 12  # parts begin at multiples of it


class Inbox:
    """The main process's side of a worker's block: the block, and the offsets of the parts whose storages have been freed."""

    def __init__(self) -> None:
        self.block: UntypedStorage | None = None
        self._freed: deque[int] = deque()
        try:
            shared = Block(SIZE)
        except RuntimeError:  # the process may not take so much address space: each storage gets shared memory of its own
            return
        self.block = untyped_over(shared)
        _INBOXES[shared.key] = self

    def storage(self, offset: int, size: int) -> Storage:
        """Return a storage over ``size`` bytes of the block."""
        assert self.block is not None
        memory = self.block._cell.memory[offset : offset + size]
        found = Storage(np.asarray(_Part(memory, partial(self._freed.append, offset))))
        FIXED.add(found)
        return found

    def freed(self) -> list[int]:
        """Return the offsets of the parts that were freed since the last call."""
        return [self._freed.popleft() for _ in range(len(self._freed))]


_INBOXES: weakref.WeakValueDictionary[tuple[int, int], Inbox] = weakref.WeakValueDictionary()


class _Part:
    """The owner of a part of a block. It calls ``freed`` when it is freed: a built-in function, which a signal cannot interrupt."""

    def __init__(self, memory: Array, freed: Any) -> None:
        self.freed = freed
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__

    __del__ = built_in_call("freed")


class Outbox:
    """A worker's side of its block: it writes to free parts, and knows which are free."""

    def __init__(self, block: UntypedStorage | None) -> None:
        self._memory = np.empty(0, np.uint8) if block is None else block._cell.memory
        self._key = None if block is None else block._cell.shared.key
        self._free = [(0, len(self._memory))]  # (offset, length), in order
        self._taken: dict[int, int] = {}  # lengths by offset

    def put(self, memory: Array) -> tuple[Any, ...] | None:
        """Copy memory to a free part; return the part's block, offset and size, or None if no part is large enough."""
        wanted = -(-len(memory) // _PAGE) * _PAGE
        for place, (offset, length) in enumerate(self._free):
            if length >= wanted:
                self._free[place : place + 1] = [(offset + wanted, length - wanted)] if length > wanted else []
                self._taken[offset] = wanted
                self._memory[offset : offset + len(memory)] = memory
                return self._key, offset, len(memory)
        return None

    def release(self, offsets: Sequence[int]) -> None:
        """Mark the parts at these offsets as free."""
        if not offsets:
            return
        parts = sorted([*self._free, *((offset, self._taken.pop(offset)) for offset in offsets)])
        self._free = []
        for offset, length in parts:
            if self._free and sum(self._free[-1]) == offset:
                offset, length = self._free[-1][0], self._free.pop()[1] + length
            self._free.append((offset, length))


def received(key: tuple[int, int], offset: int, size: int) -> UntypedStorage:
    """Return the storage over a part of a worker's block."""
    return untyped_of(_INBOXES[key].storage(offset, size))


def _reducers(outbox: Outbox, offsets: list[int]) -> dict[type, Callable[[Any], Any]]:
    """Return the reductions of a worker's batches; they append the offsets of the parts that they take to ``offsets``. Small tensors are
    written to the pickle itself. If a tensor is less than half of its storage, the storage moves to shared memory of its own, as in torch,
    and only its descriptor is sent.
    """

    def reduced(tensor: Tensor) -> Any:
        storage: Any = tensor._ms_storage
        if storage.__class__ is not Storage or storage.nbytes < _LEAST:
            return tensor.__reduce_ex__(4)
        if 2 * tensor.nbytes < storage.nbytes:
            tensor.untyped_storage().share_memory_()
        return reduce_tensor(tensor)

    def reduced_storage(storage: UntypedStorage) -> Any:
        cell = storage._cell
        if cell.__class__ is not Storage or cell.nbytes < _LEAST:
            return storage.__reduce__()
        part = None if cell.shared is not None else outbox.put(cell.memory)
        if part is None:
            return reduce_storage(storage)
        offsets.append(part[1])
        return received, part

    return {Tensor: reduced, Parameter: reduced, UntypedStorage: reduced_storage}


def pickled(outbox: Outbox, value: Any) -> bytes:
    """Return a pickle of a batch; large storages are put into shared memory."""
    file = io.BytesIO()
    offsets: list[int] = []
    pickler = ForkingPickler(file)
    ours = (Tensor, UntypedStorage, TypedStorage)
    others = {kind: reduction for kind, reduction in pickler.dispatch_table.items() if not issubclass(kind, ours)}
    pickler.dispatch_table = {**others, **_reducers(outbox, offsets)}
    try:
        pickler.dump(value)
    except BaseException:
        outbox.release(offsets)
        raise
    return file.getvalue()
