"""Classes of values for guards: plain values, opaque values that are compared by a snapshot, and values that cannot be guarded."""
from __future__ import annotations

import array
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import gc
import inspect
import logging
import operator
import os
import pathlib
import re
import struct
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout, memory_format
from ..core.size import Size

# Values of exactly these types never change, and their identity does not matter. Subclasses may have attributes.
_NUMBERS = frozenset(kind for kind in np.sctypeDict.values() if not issubclass(kind, (np.void, np.object_)))
PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), dtype, device, layout, memory_format, Size, range)) | _NUMBERS

# Values of these types never change, or contain nothing that a function could compute with.
FIXED: tuple[Any, ...] = (
    re.Pattern, re.Match, np.ufunc, np.dtype, types.CodeType, types.GenericAlias, types.UnionType, types.BuiltinFunctionType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, property, staticmethod, classmethod, super, enum.Enum, datetime.date, datetime.timedelta,
    datetime.time, datetime.tzinfo, decimal.Decimal, fractions.Fraction, pathlib.PurePath, slice, type(NotImplemented), type(Ellipsis),
    type(threading.Lock()), type(threading.RLock()), inspect.Signature, inspect.Parameter, typing.TypeVar,
    types.SimpleNamespace, BaseException, contextvars.Token, functools.cached_property, os.PathLike, type, types.ModuleType,
    operator.itemgetter, operator.methodcaller, type(vars(collections.namedtuple("_Pair", "one"))["one"]),
)  # fmt: skip
CACHED = type(functools.lru_cache(lambda: None))
_POINTER = np.dtype(np.intp).itemsize


class Held:
    """Wrapper that compares an object by identity and keeps it alive, so that its id is not reused."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def is_plain(value: Any) -> bool:
    """Return whether a value is a number, a string, a dtype or the like, or a tuple of these, so that it is compared by value and not by
    identity."""
    kind = type(value)
    return kind in PLAIN or (kind is tuple and all(map(is_plain, value)))


def picture(value: Any) -> Any:
    """Return a key by which two values can be compared: type and bits of a plain value, the identity of any other object."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("2d", value.real, value.imag)
    if kind is tuple:
        return kind, tuple(map(picture, value))
    if kind is range:
        return kind, value.start, value.stop, value.step
    if kind in _NUMBERS:
        return kind, value.dtype, value.tobytes()
    return (kind, value) if kind in PLAIN else Held(value)


def same_plain(first: Any, second: Any) -> bool:
    """Return whether a value has the type and bits of the plain value ``second``."""
    return first is second or (type(first) is type(second) and picture(first) == picture(second))


def _logged(value: logging.Logger) -> tuple[Any, ...]:
    return value.level, value.disabled, value.getEffectiveLevel(), value.manager.disable


class ItemsOf:
    """Function that returns the pictures of a set's items, in iteration order."""

    __slots__ = ("items",)

    def __init__(self, items: Any) -> None:
        self.items = items

    def __call__(self) -> tuple[Any, ...]:
        return tuple(map(picture, self.items))


def pictured(value: Any) -> Callable[[], Any] | None:
    """Return a function that returns the current state of a value (an array's bytes, a set's items), for values whose state is not in their
    attributes. Return None for others."""
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return lambda: (value.dtype.str, value.shape, tuple(map(picture, value.ravel().tolist())))
    if isinstance(value, np.ndarray):
        return lambda: (str(value.dtype), value.shape, value.strides, value.flags.num, value.tobytes())
    if isinstance(value, np.void):
        return lambda: (str(value.dtype), picture(value.item()) if value.dtype.hasobject else value.tobytes())
    if isinstance(value, array.array):
        return lambda: (value.typecode, value.tobytes())
    if isinstance(value, memoryview):
        return lambda: (value.format, value.shape, value.tobytes())
    if isinstance(value, bytearray):
        return lambda: bytes(value)
    if isinstance(value, (set, frozenset)):
        return ItemsOf(value)
    if isinstance(value, collections.deque):
        return lambda: (value.maxlen, *map(picture, value))
    if isinstance(value, types.MappingProxyType):
        return lambda: tuple((picture(key), picture(item)) for key, item in value.items())
    if isinstance(value, contextvars.ContextVar):
        return lambda: picture(value.get(None))
    if isinstance(value, weakref.ref):
        return lambda: value() is None  # its referent never changes
    if isinstance(value, BaseException):
        return lambda: (*map(picture, value.args), picture(value.__cause__), picture(value.__context__))
    if isinstance(value, logging.Logger):
        return lambda: _logged(value)
    if isinstance(value, type(threading.Lock())):
        return value.locked
    return None


def parts(value: Any) -> list[Any]:
    """Return the values contained in a value that is compared by a snapshot."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if isinstance(value, (set, frozenset, collections.deque)):
        return list(value)
    if isinstance(value, types.MappingProxyType):
        return [*value.keys(), *value.values()]
    if isinstance(value, contextvars.ContextVar):
        return [value.get(None)]
    if isinstance(value, weakref.ref):
        return [value()]
    if isinstance(value, BaseException):
        return [*value.args, value.__cause__, value.__context__]
    return []


def kept_by(cached: Any) -> list[Any]:
    """Return the arguments and results that ``functools.lru_cache`` holds for a function."""
    held = [one for one in gc.get_referents(cached) if not isinstance(one, (type, types.FunctionType)) and one is not vars(cached)]
    if cached.cache_parameters()["maxsize"] is None:  # the dictionary of results is the first referent
        return [value for one in held[:1] for value in one.values()]
    return [one for one in held if not (type(one) is dict and any(type(value).__name__ == "_lru_list_elem" for value in one.values()))]


def slots(value: Any) -> list[tuple[str, Any]]:
    """Return the members of a value outside of its ``__dict__``, by name."""
    found = []
    for base in type(value).__mro__:
        for name, descriptor in vars(base).items():
            if isinstance(descriptor, types.MemberDescriptorType):
                found.append((name, descriptor))
    return found


def _slots_of(base: type) -> tuple[str, ...]:
    named = vars(base).get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def hides_state(value: Any) -> bool:
    """Return whether a value has state invisible to Python code, such as an iterator, a random generator or a C object."""
    if isinstance(value, FIXED):
        return False
    for base in type(value).__mro__[:-1]:
        if base.__base__ is None or base in _SEEN_THROUGH or base in PLAIN:
            continue
        known = [name for name in _slots_of(base) if name not in ("__dict__", "__weakref__")]
        members = len(known) + ("__dict__" in vars(base)) + ("__weakref__" in vars(base))
        if base.__basicsize__ > base.__base__.__basicsize__ + members * _POINTER:
            return True
    return False


# Base classes whose contents guards compare.
_SEEN_THROUGH = frozenset((list, tuple, dict, set, frozenset, str, bytes, int, float, collections.OrderedDict, collections.defaultdict))
