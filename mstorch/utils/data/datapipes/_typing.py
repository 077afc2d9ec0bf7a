"""Metaclasses of datapipes, and subtype checks with typing constructs."""

from __future__ import annotations

import functools
import numbers
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

from ._hook_iterator import _SnapshotState, hook_iterator


class Integer(numbers.Integral):
    """The type of ``int`` arguments, excluding bool."""


class Boolean(numbers.Integral):
    """The type of ``bool`` arguments, excluding int."""


TYPE2ABC: dict[Any, Any] = {
    bool: Boolean,
    int: Integer,
    float: numbers.Real,
    complex: numbers.Complex,
    dict: dict,
    list: list,
    set: set,
    tuple: tuple,
    None: type(None),
}


def _alternatives(kind: Any) -> list[Any] | None:
    """Return the types that a TypeVar or a Union allows (an empty list: any); None for any other type."""
    if isinstance(kind, TypeVar):
        kinds = list(kind.__constraints__) if kind.__bound__ is None else [kind.__bound__]
    elif get_origin(kind) is Union:
        kinds = list(get_args(kind))
    else:
        return None
    return [TYPE2ABC.get(one, one) for one in kinds]


def issubtype(left: Any, right: Any, recursive: bool = True) -> bool:
    """Return whether ``left`` is a subtype of ``right``; without ``recursive``, type parameters are not compared."""
    left, right = TYPE2ABC.get(left, left), TYPE2ABC.get(right, right)
    if right is Any or left == right or get_origin(right) is Generic:
        return True
    if right is type(None):
        return False
    allowed = _alternatives(right)
    allowed = [right] if allowed is None else allowed
    if not allowed or Any in allowed:
        return True
    if left is Any:
        return False
    variants = _alternatives(left)
    variants = [left] if variants is None else variants
    return bool(variants) and all(_is_one_of(variant, allowed, recursive) for variant in variants)


def _is_one_of(variant: Any, allowed: list[Any], recursive: bool) -> bool:
    if variant in allowed:
        return True
    variants = _alternatives(variant)
    if variants is not None:
        return all(_is_one_of(one, allowed, recursive) for one in variants)
    return any(_is_one(variant, kind, recursive) for kind in allowed)


def _is_one(variant: Any, kind: Any, recursive: bool) -> bool:
    alternatives = _alternatives(kind)
    if alternatives is not None:
        return _is_one_of(variant, alternatives, recursive)
    origin = get_origin(variant) or variant
    if get_origin(kind) is None:
        return origin == kind
    if origin != get_origin(kind):
        return False
    given, wanted = get_args(variant), get_args(kind)
    if not recursive or not wanted:
        return True
    return len(given) == len(wanted) and all(issubtype(one, other) for one, other in zip(given, wanted))


def issubinstance(data: Any, data_type: Any) -> bool:
    """Return whether an object, including its items, is an instance of a type."""
    if not issubtype(type(data), data_type, recursive=False):
        return False
    kinds = get_args(data_type)
    if not kinds:
        return True
    if isinstance(data, tuple):
        return len(kinds) == len(data) and all(issubinstance(item, kind) for item, kind in zip(data, kinds))
    if isinstance(data, list | set):
        return all(issubinstance(item, kinds[0]) for item in data)
    if isinstance(data, dict):
        return all(issubinstance(k, kinds[0]) and issubinstance(v, kinds[1]) for k, v in data.items())
    return True


class _DataPipeType:
    """The type of a datapipe's samples."""

    def __init__(self, param: Any) -> None:
        self.param = param

    def __repr__(self) -> str:
        kind = self.param
        if not isinstance(kind, type) or get_args(kind):
            return repr(kind)
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

    def __eq__(self, other: object) -> Any:
        return self.param == other.param if isinstance(other, _DataPipeType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.param)

    def issubtype(self, other: Any) -> bool:
        """Return whether this type is a subtype of ``other``."""
        if isinstance(other, _DataPipeType):
            return issubtype(self.param, other.param)
        if isinstance(other, type):
            return issubtype(self.param, other)
        raise TypeError(f"Expected '_DataPipeType' or 'type', but found {type(other)}")

    def issubtype_of_instance(self, other: Any) -> bool:
        """Return whether an object is an instance of this type."""
        return issubinstance(other, self.param)


class GenericMeta(ABCMeta):
    """The metaclass of generic classes."""


class _DataPipeMeta(GenericMeta):
    """The metaclass of datapipes."""

    type: _DataPipeType


class _IterDataPipeMeta(_DataPipeMeta):
    """The metaclass of iterable datapipes: it hooks ``__iter__`` and keeps ``reset`` from undoing a restored snapshot."""

    def __new__(cls, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], **kwargs: Any) -> type:
        if "reset" in namespace:
            namespace["reset"] = _conditional(namespace["reset"])
        if "__iter__" in namespace:
            hook_iterator(namespace)
        return super().__new__(cls, name, bases, namespace, **kwargs)


def _conditional(reset: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(reset)
    def conditional(*args: Any, **kwargs: Any) -> None:
        datapipe = args[0]
        # A datapipe that was not started is reset too, because its source may be in the middle of an iteration.
        if datapipe._snapshot_state is not _SnapshotState.Restored:
            datapipe._number_of_samples_yielded = 0
            datapipe._fast_forward_iterator = None
            reset(*args, **kwargs)
        datapipe._snapshot_state = _SnapshotState.Iterating

    return conditional
