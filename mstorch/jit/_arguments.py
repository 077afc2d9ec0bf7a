"""Number conversion for scripted functions: an argument annotated as float is passed as a float, as in TorchScript."""
from __future__ import annotations

import inspect
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

from .._tensor import Tensor

Conversion = Callable[[Any], Any]


def _float(value: Tensor | float) -> Any:
    return float(value) if isinstance(value, int) or (isinstance(value, Tensor) and value.numel() == 1) else value


def _int(value: Tensor | float) -> Any:
    return int(value) if isinstance(value, bool) or (isinstance(value, Tensor) and value.numel() == 1) else value


def _conversion(kind: Any) -> Conversion | None:
    """Return the conversion for arguments of an annotated type; None if they need no conversion."""
    if kind is float:
        return _float
    if kind is int:
        return _int
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and len(parts) == 1:
        of_one = _conversion(parts[0])
        return None if of_one is None else lambda value: [of_one(one) for one in value] if isinstance(value, (list, tuple)) else value
    if origin in (typing.Union, types.UnionType) and len(parts) == 2 and type(None) in parts:
        of_one = _conversion(parts[0] if parts[1] is type(None) else parts[1])
        return None if of_one is None else lambda value: value if value is None else of_one(value)
    return None


class _Reading:
    """The conversions of a function's arguments, derived from its annotations."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.by_name: dict[str, Conversion] = {}
        self.places: list[Conversion | None] = []
        try:
            hints = typing.get_type_hints(function)
            parameters = list(inspect.signature(function).parameters.values())
        except (NameError, TypeError, ValueError, AttributeError, SyntaxError):  # names that are resolved elsewhere, builtins
            return
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                break
            conversion = _conversion(hints.get(parameter.name))
            if conversion is not None:
                self.by_name[parameter.name] = conversion
            self.places.append(conversion)


# Functions are parsed once. They are the keys, not their owners: a module's file contains no conversions.
_readings: weakref.WeakKeyDictionary[Any, _Reading] = weakref.WeakKeyDictionary()


def converted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a scripted function, or bound method, after conversion."""
    key = getattr(function, "__func__", function)
    reading = _readings.get(key)
    if reading is None:
        reading = _readings[key] = _Reading(function)
    by_name, places = reading.by_name, reading.places
    if not by_name:
        return args, kwargs
    given = tuple(one if how is None else how(one) for one, how in zip(args, places)) + args[len(places):]
    return given, {name: by_name[name](one) if name in by_name else one for name, one in kwargs.items()}
