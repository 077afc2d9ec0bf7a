"""Storages that are read as conjugated or negated.

A tensor over one has the class of all tensors. While there are mirrors, public functions look for them among their arguments: each mirror
is an entry of ``MODES``, so that no call looks for them where there are none.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend.arrays import Array
from ..backend.float8 import turned
from ..backend.raw import NAME_OF, Raw
from ..backend.table import kernel
from .modes import MODES

if TYPE_CHECKING:
    from .storage import Storage

TENSORS: set[type] = set()  # the final tensor classes
MIRRORS: list[None] = []  # one entry per mirror
_conj, _neg = kernel("conj"), kernel("neg")


def modes_are_on() -> bool:
    """Return whether there are modes, other than that mirrors have to be looked for; those never change what is computed."""
    return len(MODES) > len(MIRRORS)


def _false(self: Any, *args: Any) -> bool:
    return False


class Mirror:
    """Storage of torch's lazy conjugates: the memory of another storage (``inner``), read as conjugated, negated or both."""

    __slots__ = ("inner", "conj", "neg", "__weakref__")

    kind = "mirrored"
    reads_are_free = has_elements = True
    grows = False
    fuses = is_free = _false
    moved = True  # windows of it are computed anew each time
    shared = None
    parameter = None
    pinned = False

    def __init__(self, inner: Storage, conj: bool, neg: bool) -> None:
        self.inner = inner
        self.conj = conj
        self.neg = neg
        MODES.append(None)
        MIRRORS.append(None)

    def __del__(self, mirrors: list[None] = MIRRORS, modes: list[None] = MODES) -> None:
        mirrors.pop()  # the lists are arguments, because globals are gone at the end of a program
        modes.pop()

    @property
    def version(self) -> int:
        """Version counter of the memory."""
        return self.inner.version

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.inner.nbytes

    @property
    def memory(self) -> Array:
        """The bytes of the memory, without the conjugate and negative bits."""
        return self.inner.memory

    def copied(self) -> Storage:
        """Return a copy of the memory, without the conjugate and negative bits."""
        return self.inner.copied()

    is_shown_by = _false  # so that a parameter gets plain memory

    def turned(self, array: Array) -> Any:
        """Return elements conjugated and negated as the two bits say; applied twice, it returns the original elements."""
        if array.dtype.names:  # complex numbers of half precision
            return turned(array, self.conj, self.neg)
        found = np.conjugate(array) if self.conj else array
        return np.asarray(np.negative(found) if self.neg else found)

    def turned_raw(self, raw: Raw) -> Raw:
        """Apply the conjugate and negative bits to a MindSpore tensor."""
        name = NAME_OF[raw.dtype]
        found = _conj[name](raw) if self.conj else raw
        return _neg[name](found) if self.neg else found


def only_mirrors(*values: Any) -> bool:
    """Return whether ``MODES`` has entries of mirrors only, and none of the values is a tensor over one, also in lists and dicts."""
    return len(MODES) == len(MIRRORS) and not _has_mirror(values)


def _has_mirror(values: Iterable[Any]) -> bool:
    for value in values:
        kind = value.__class__
        if kind in TENSORS:
            if value._ms_storage.__class__ is Mirror:
                return True
        elif kind is tuple or kind is list:
            if _has_mirror(value):
                return True
        elif kind is dict and _has_mirror(value.values()):
            return True
    return False
