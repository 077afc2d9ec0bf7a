"""Calls from Python: arguments are converted to the declared types, or refused with torch's words."""

from __future__ import annotations

import ast
from typing import Any

from .source import Function
from .types import Type, Unfit, convert, described


def checked_arguments(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], bound: bool) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call from Python as values of the declared types. Raise RuntimeError for others, with torch's words."""
    free = function.parameters[1:] if bound else function.parameters
    own = function.name.rpartition(".")[2]
    if len(args) > len(free):
        raise RuntimeError(
            f"{own}() expected at most {len(free) + bound} argument(s) but received {len(args) + bound} argument(s). "
            f"Declaration: {declared(function)}"
        )
    named = {parameter.name: parameter for parameter in free}
    values = []
    for place, (parameter, value) in enumerate(zip(free, args)):
        if parameter.name in kwargs:
            raise RuntimeError(f"Argument '{parameter.name}' was specified twice. Declaration: {declared(function)}")
        values.append(_converted(function, parameter.name, parameter.type, value, place + bound))
    for name in kwargs:
        if name not in named:
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{own}'. Schema: {declared(function)}")
    rest = {name: _converted(function, name, named[name].type, value, None) for name, value in kwargs.items()}
    for parameter in free[len(args) :]:
        if parameter.name not in kwargs and parameter.default is None:
            raise RuntimeError(f"{own}() is missing value for argument '{parameter.name}'. Declaration: {declared(function)}")
    return values, rest


def _converted(function: Function, name: str, kind: Type | None, value: Any, place: int | None) -> Any:
    if kind is None:
        return value
    try:
        return convert(value, kind)
    except Unfit:
        own = function.name.rpartition(".")[2]
        where = "" if place is None else f"\nPosition: {place}"
        raise RuntimeError(
            f"{own}() Expected a value of type '{kind.shown}' for argument '{name}' but instead found type '{described(value)}'.{where}\n"
            f"Value: {value!r}\nDeclaration: {declared(function)}\nCast error details: Unable to cast {value!r} to {kind.shown}"
        ) from None


def declared(function: Function) -> str:
    """Return a function's signature as torch's errors show it."""
    returns = function.returns
    result = "Any" if returns is None else f"({returns.shown})" if returns.kind == "Tuple" else returns.shown
    shown = [
        f"{one.type.shown if one.type is not None else ''} {one.name}"
        + (f"={ast.unparse(one.default)}" if one.default is not None else "")
        for one in function.parameters
    ]
    return f"{function.name.rpartition('.')[2]}({', '.join(shown)}) -> {result}"
