"""A quick check of guards: a snapshot of the guarded objects that is compared by identity, by loops in C.

It may say no although all values are equal, because one is another object now. Then the guards themselves are asked.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter, is_
from types import MappingProxyType
from typing import Any

from ..core.tensor_base import is_tracked
from ..tape.node import is_leaf
from .held import Held
from .kinds import ItemsOf
from .unchanged import MISSING, contents, same_hooks, same_picture, space_of

_state = attrgetter("_ms_storage", "_ms_node", "_ms_auto")
_leaf = attrgetter("leaf")
_names = attrgetter("__name__", "__qualname__", "__mro__")
_get_in_class: Any = MappingProxyType.get
_CONTAINERS = (dict, list, OrderedDict)


class Quick:
    """Snapshot of what guards hold, at a time when they hold."""

    def __init__(self, guards: Held) -> None:
        self._note_entries(guards)
        self._note_containers(guards)
        self._note_tensors(guards)
        self.objects, self.kinds, _ = _columns(guards.kinds, 3)
        self.probes = [(fetch, value) for fetch, value, *_ in guards.probes if not _is_empty_set(fetch)]
        self.items = [(container, key, container[key]) for container, key, *_ in guards.items]
        self.cells = [(cell, contents(cell)) for cell, *_ in guards.cells]
        self.hooks = guards.hooks

    def _note_entries(self, guards: Held) -> None:
        entries = [(members, key) for members, checks, _ in guards.dicts for key, _, _ in checks]
        entries += [(space, key) for space, copy in guards.public if isinstance(space, dict) for key in copy]
        self.members, self.keys = _columns(entries, 2)
        self.values = list(map(dict.get, self.members, self.keys, repeat(MISSING)))
        of_classes = [(space_of(base), key) for base, members in guards.classes for key in members if key]
        of_classes += [(space, key) for space, copy in guards.public if not isinstance(space, dict) for key in copy]
        self.spaces, self.names = _columns(of_classes, 2)
        self.attributes = list(map(_get_in_class, self.spaces, self.names, repeat(MISSING)))
        self.classes = [base for base, _ in guards.classes]
        self.class_names = list(map(_names, self.classes))

    def _note_containers(self, guards: Held) -> None:
        plain = [container for container, _, _ in guards.sizes if container.__class__ in _CONTAINERS]
        sets: list[Any] = [fetch.items for fetch, *_ in guards.probes if isinstance(fetch, ItemsOf) and not fetch.items]
        self.sized: list[Any] = [*plain, *(members for members, _, _ in guards.keys), *map(space_of, self.classes), *sets]
        self.lengths = list(map(len, self.sized))
        self.ordered = [container for container in plain if isinstance(container, dict) and container]
        self.order = list(chain.from_iterable(self.ordered))
        self.sizes = [entry for entry in guards.sizes if entry[0].__class__ not in _CONTAINERS]

    def _note_tensors(self, guards: Held) -> None:
        self.tensors = [tensor for tensor, *_ in guards.tensors if _is_simple(tensor)]
        self.states = list(map(_state, self.tensors))
        self.autos = [tensor._ms_auto for tensor in self.tensors if tensor._ms_auto is not None]
        self.leaves = list(map(_leaf, self.autos))
        self.views = [entry for entry in guards.tensors if not _is_simple(entry[0])]

    def holds(self) -> bool:
        """Return whether everything is the same object as before."""
        return (
            list(map(len, self.sized)) == self.lengths
            and all(map(is_, map(dict.get, self.members, self.keys, repeat(MISSING)), self.values))
            and all(map(is_, map(_get_in_class, self.spaces, self.names, repeat(MISSING)), self.attributes))
            and all(map(is_, map(type, self.objects), self.kinds))
            and all(map(is_, chain.from_iterable(self.ordered), self.order))
            and list(map(_state, self.tensors)) == self.states
            and list(map(_leaf, self.autos)) == self.leaves
            and list(map(_names, self.classes)) == self.class_names
            and self._others_hold()
        )

    def _others_hold(self) -> bool:
        for tensor, storage, tracked, leaf, *_ in self.views:
            if tensor._ms_storage is not storage or is_tracked(tensor) is not tracked or is_leaf(tensor) is not leaf:
                return False
        for fetch, value in self.probes:
            now = fetch()
            if now is value:
                continue
            if now.__class__ is value.__class__ is tuple and len(now) == len(value) and all(map(is_, now, value)):
                continue
            if not same_picture(now, value):
                return False
        for space, name, hooks, before in self.hooks:  # `same_hooks` written out
            if space.get(name) is not hooks or len(hooks) != len(before) or (before and not same_hooks(space, name, hooks, before)):
                return False
        for container, key, value in self.items:
            if container[key] is not value:
                return False
        for cell, value in self.cells:
            if contents(cell) is not value:
                return False
        return not self.sizes


def _columns(rows: Iterable[Sequence[Any]], number: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows)] or [[] for _ in range(number)]


def _is_simple(tensor: Any) -> bool:
    """Return whether the parts of a tensor that are compared tell whether it is tracked, and a leaf."""
    return tensor._ms_node is None and (tensor._ms_auto is None or tensor._ms_auto.base is None)


def _is_empty_set(fetch: Any) -> bool:
    return fetch.__class__ is ItemsOf and not fetch.items
