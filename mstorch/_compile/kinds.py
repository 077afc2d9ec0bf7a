"""Kinds of values whose contents no attribute shows: how a guard takes a picture of them, and which it cannot know."""
from __future__ import annotations

import array
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import os
import pathlib
import re
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

# Values of these never change, or hold nothing that a function could compute with.
FIXED: tuple[Any, ...] = (
    re.Pattern, re.Match, np.ufunc, np.dtype, types.CodeType, types.GenericAlias, types.UnionType, types.BuiltinFunctionType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, property, staticmethod, classmethod, super, enum.Enum, datetime.date, datetime.timedelta,
    datetime.time, datetime.tzinfo, decimal.Decimal, fractions.Fraction, pathlib.PurePath, slice, type(NotImplemented), type(Ellipsis),
    type(threading.Lock()), type(threading.RLock()), inspect.Signature, inspect.Parameter, BaseException, typing.TypeVar,
    types.SimpleNamespace,
    contextvars.Token, types.TracebackType, types.FrameType, functools.cached_property, os.PathLike, type,
)  # fmt: skip
_BYTES = (bytearray, array.array, memoryview, np.ndarray)
_POINTER = np.dtype(np.intp).itemsize


def pictured(value: Any) -> Callable[[], Any] | None:
    """What gives a value's contents as plain data or identities, for kinds that neither attributes nor keys show; else None."""
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return lambda: (value.shape, tuple(map(id, value.ravel().tolist())))
    if isinstance(value, np.ndarray):
        return lambda: (value.dtype, value.shape, value.tobytes())
    if isinstance(value, _BYTES):
        return lambda: bytes(value)
    if isinstance(value, (set, frozenset)):
        return lambda: (len(value), frozenset(map(_picture, value)))
    if isinstance(value, collections.deque):
        return lambda: tuple(map(_picture, value))
    if isinstance(value, types.MappingProxyType):
        return lambda: tuple((_picture(key), _picture(item)) for key, item in value.items())
    if isinstance(value, contextvars.ContextVar):
        return lambda: _picture(value.get(None))
    if isinstance(value, weakref.ref):
        return lambda: id(value())
    return None


def _picture(value: Any) -> Any:
    """A plain value with its type; of anything else the identity."""
    if isinstance(value, (int, float, complex, str, bytes, type(None))):
        return type(value), repr(value) if isinstance(value, (float, complex)) else value
    if type(value) is tuple:
        return tuple(map(_picture, value))
    return id(value)


def parts(value: Any) -> list[Any]:
    """The values in one of those that are pictured."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if isinstance(value, (set, frozenset, collections.deque)):
        return list(value)
    if isinstance(value, types.MappingProxyType):
        return list(value.values())
    if isinstance(value, contextvars.ContextVar):
        return [value.get(None)]
    if isinstance(value, weakref.ref):
        return [value()]
    return []


def slots(value: Any) -> list[tuple[str, Any]]:
    """The members that a value has outside of its ``__dict__``, by name."""
    found = []
    for base in type(value).__mro__:
        for name in _slots_of(base):
            descriptor = vars(base).get(_mangled(base, name))
            if isinstance(descriptor, types.MemberDescriptorType):
                found.append((name, descriptor))
    return found


def _slots_of(base: type) -> tuple[str, ...]:
    named = vars(base).get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def _mangled(base: type, name: str) -> str:
    return f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name


def hides_state(value: Any) -> bool:
    """Whether a value has state that Python code cannot name: an iterator, a generator of random numbers, an object of C."""
    if isinstance(value, FIXED):
        return False
    for base in type(value).__mro__[:-1]:
        if base.__base__ is None or base in _SEEN_THROUGH:
            continue
        known = [name for name in _slots_of(base) if name not in ("__dict__", "__weakref__")]
        members = len(known) + ("__dict__" in vars(base)) + ("__weakref__" in vars(base))
        if base.__basicsize__ > base.__base__.__basicsize__ + members * _POINTER:
            return True
    return False


# Bases whose contents guards look at.
_SEEN_THROUGH = frozenset((list, tuple, dict, set, frozenset, str, bytes, int, float, collections.OrderedDict, collections.defaultdict))

__all__ = ["hides_state", "parts", "pictured", "slots"]
