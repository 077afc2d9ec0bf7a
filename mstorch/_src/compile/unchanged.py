"""Compare the values that a compiled graph's guards recorded (classes, functions, closures, containers, tensors) with those of now."""
from __future__ import annotations

import types
from itertools import islice, repeat
from operator import is_
from typing import Any

from .kinds import Held, is_plain, picture, same_plain

MISSING = object()
"""Stands for what a namespace does not hold."""
# Attributes that Python keeps in a class, and counters of instances.
OF_CLASSES = frozenset((
    "__dict__", "__weakref__", "__abstractmethods__", "_abc_impl", "__dataclass_fields__", "__dataclass_params__", "__parameters__",
    "__orig_bases__", "__annotations__", "__protocol_attrs__", "__subclasshook__", "total_instance_count", "next_id",
))  # fmt: skip


space_of: Any = type.__dict__["__dict__"].__get__
"""Return the namespace of a class itself: that of Module is shown to programs without the names of Cell."""


def is_same(now: Any, value: Any, plain: bool) -> bool:
    """Return whether a value is the object that it was, or an equal one if it was plain."""
    return now is value or (plain and same_plain(now, value))


def members_of(base: type) -> dict[str, Any]:
    """Return a class's members, name and bases."""
    members = {name: value for name, value in space_of(base).items() if name not in OF_CLASSES}
    members[""] = (base.__name__, base.__qualname__, base.__mro__)
    return members


def same_members(base: type, before: dict[str, Any]) -> bool:
    """Return whether a class has the members, the name and the bases that it had before."""
    space = space_of(base)
    # First by identity, in functions of C alone: a class has dozens of members, and they hardly ever change.
    same = map(is_, map(space.get, before, repeat(MISSING)), before.values())  # the last item is the name and the bases
    if len(space.keys() - OF_CLASSES) == len(before) - 1 and all(islice(same, len(before) - 1)):
        return bool(before[""] == (base.__name__, base.__qualname__, base.__mro__))
    now = members_of(base)
    return len(now) == len(before) and all(same_picture(now.get(name, MISSING), value) for name, value in before.items())


def same_picture(now: Any, value: Any) -> bool:
    """Return whether a value is unchanged: the same object, an equal plain value, or a tuple of these."""
    if now is value:
        return True
    if type(now) is not type(value):
        return False
    if type(value) is tuple:
        return len(now) == len(value) and all(map(same_picture, now, value))
    return bool(picture(now) == picture(value)) or (isinstance(value, Held) and bool(now == value))


def in_order(container: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Return whether the keys are the same as before, in the same order."""
    return all(one is two or (is_plain(two) and same_plain(one, two)) for one, two in zip(container, before))


def same_hooks(space: dict[str, Any], name: str, hooks: dict[Any, Any], before: tuple[Any, ...]) -> bool:
    """Return whether a module's dict of hooks is the same, and holds the same hooks."""
    return space.get(name) is hooks and len(hooks) == len(before) and all(map(is_, hooks.values(), before))


def slot_of(descriptor: Any, value: Any) -> Any:
    """Return what a slot of an object holds."""
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return MISSING


def attributes_of_function(function: types.FunctionType) -> tuple[Any, ...]:
    """Return the replaceable attributes of a function."""
    return (
        function.__code__, function.__defaults__, function.__kwdefaults__, function.__name__, function.__qualname__, function.__doc__,
        function.__module__,
    )  # fmt: skip


def gradient_of(tensor: Any) -> Any:
    """Return a tensor's gradient, or None."""
    auto = tensor._ms_auto
    return None if auto is None else auto.grad


# The attributes of a tensor that a guard restores.
SHOWN = (
    "_ms_storage", "_ms_dtype", "_ms_shape", "_ms_stride", "_ms_offset", "_ms_array", "_ms_counter", "_ms_node", "_ms_number", "_ms_auto",
)  # fmt: skip


def is_unchanged(container: Any, before: Any) -> bool:
    """Return whether a list, tuple or dictionary has the same items as before."""
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        return in_order(container, before)  # the values have guards of their own
    return all(now is value or (is_plain(value) and same_plain(now, value)) for now, value in zip(container, before))


def contents(cell: Any) -> Any:
    """Return what a closure's cell holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
