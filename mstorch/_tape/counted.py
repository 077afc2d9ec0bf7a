"""How often gradients have been written, as torch counts: what it puts, or adds up, in place has been."""
from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from .._core.tensor_base import TensorBase


class _Ref(weakref.ref):  # type: ignore[type-arg]
    """A reference to an array, and how often it was written."""

    __slots__ = ("key", "times")
    key: int
    times: int


def _references(value: Any) -> int:
    return sys.getrefcount(value)


# The references that a call adds to what it is given, besides the parameter: Python 3.10 keeps one with the caller.
PER_CALL = _references(object()) - 2

# By the id of the array that owns the memory; an array that goes takes its entry along.
COUNTS: dict[int, _Ref] = {}


def _gone(ref: _Ref) -> None:
    COUNTS.pop(ref.key, None)


def owner(array: np.ndarray) -> np.ndarray:
    """The array at the bottom of views."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def written(gradient: Any, times: int = 1) -> Any:
    """The gradient, a fresh one, counted as written so often."""
    if gradient.__class__ is np.ndarray:
        whole = owner(gradient)
        ref = COUNTS[id(whole)] = _Ref(whole, _gone)
        ref.key, ref.times = id(whole), times
    elif isinstance(gradient, TensorBase):
        gradient._counter.version += times  # type: ignore[attr-defined]
    return gradient


def times_written(array: np.ndarray) -> int:
    """How often a gradient was written."""
    found = COUNTS.get(id(owner(array)))
    return 0 if found is None else found.times


def added(held: np.ndarray, total: Any) -> Any:
    """The sum of a gradient and another: torch adds to the first in place where the caller's buffer (and the node) alone hold it."""
    base = held.base
    whole = base is None or (base.__class__ is np.ndarray and base.nbytes == held.nbytes and sys.getrefcount(base) <= 3)
    if whole and total.__class__ is np.ndarray and sys.getrefcount(held) <= 5 + PER_CALL:
        written(total, 1 + (times_written(held) if COUNTS else 0))
    return total
