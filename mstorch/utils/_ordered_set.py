"""torch.utils._ordered_set: a set that keeps insertion order."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet, Reversible
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet[T], Reversible[T]):
    """A set that keeps insertion order."""

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def add(self, elem: T) -> None:
        """Append an element, unless the set contains it."""
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        """Remove an element, if the set contains it."""
        self._dict.pop(elem, None)

    def clear(self) -> None:
        """Remove all elements."""
        self._dict.clear()

    def pop(self) -> T:
        """Remove the last element and return it; raise KeyError if there is none."""
        if not self._dict:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[T]:
        """Return a shallow copy."""
        return OrderedSet(self)

    def update(self, *others: Iterable[T]) -> None:
        """Append the elements of iterables."""
        for other in others:
            self |= other

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements of this set, then those of others."""
        found = self.copy()
        found.update(*others)
        return found

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements that are in all others, in this set's order."""
        return OrderedSet(one for one in self if all(one in other for other in others))

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements that are in no other, in this set's order."""
        return OrderedSet(one for one in self if not any(one in other for other in others))

    def __ior__(self, other: Iterable[Any]) -> OrderedSet[T]:
        self._dict.update(dict.fromkeys(other))
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"
