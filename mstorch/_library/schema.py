"""Operator schemas of annotated functions."""
from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from .._src.core.device import device
from .._src.core.dtype import dtype
from .._tensor import Tensor

# Schemas of annotations

_WORDS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device"}
_UNIONS = (typing.Union, types.UnionType)


def _word(kind: Any) -> str | None:
    if kind in _WORDS:
        return _WORDS[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        rest = [one for one in args if one is not type(None)]
        inner = _word(rest[0]) if len(rest) == 1 else "Scalar" if set(rest) == {int, float, bool} else None
        return None if inner is None else inner + "?" * (len(rest) < len(args))
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _word(args[0])
        return None if inner is None else f"{inner}[]"
    return None


def _returned(kind: Any) -> str | None:
    if kind is None or kind is type(None):
        return "()"
    if typing.get_origin(kind) is tuple:
        words = [_word(one) for one in typing.get_args(kind)]
        return None if None in words else f"({', '.join(word for word in words if word is not None)})"
    return _word(kind)


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None, tags: tuple[Any, ...] = ()
) -> str:
    """Infer the schema from a function's annotations: ``(Tensor x, SymInt n=1) -> Tensor``. Raise ValueError if they are missing or
    unsupported.
    """
    signature = inspect.signature(prototype_function)
    try:
        return (op_name or "") + _schema_of(prototype_function, signature, None if mutates_args == "unknown" else set(mutates_args))
    except _Unsupported as error:
        raise ValueError(f"infer_schema(func): {error} Got func with signature {signature})") from error.__cause__


class _Unsupported(Exception):
    """An annotation that has no form in a schema; the text is torch's."""


def _schema_of(function: Callable[..., Any], signature: inspect.Signature, written: set[str] | None) -> str:
    """Return the schema; ``written`` are the parameters that the function changes, or None if any tensor may be changed."""
    kinds = _annotations(function, signature)
    parts: list[str] = []
    for position, parameter in enumerate(signature.parameters.values()):
        part = f"{_parameter_word(parameter, kinds.get(parameter.name), position, written)} {parameter.name}{_default(parameter)}"
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(part)
    unknown = (written or set()) - set(signature.parameters)
    if unknown:
        raise _Unsupported(f"{unknown} in mutates_args were not found in the custom op's signature.")
    result = signature.return_annotation
    if result is inspect.Signature.empty:
        raise _Unsupported("No return type annotation was provided. Please add one.")
    returned = _returned(kinds.get("return", result))
    if returned is None:
        raise _Unsupported(f"Return has unsupported type {result}.")
    return f"({', '.join(parts)}) -> {returned}"


def _annotations(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """Return the annotations as objects, also those that are written as texts."""
    kinds = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    if any(isinstance(kind, str) for kind in (*kinds.values(), signature.return_annotation)):
        try:
            return typing.get_type_hints(function)
        except NameError as error:
            raise _Unsupported(f"Unsupported type annotation: {error}.") from error
    return kinds


def _parameter_word(parameter: inspect.Parameter, kind: Any, position: int, written: set[str] | None) -> str:
    """Return a parameter's type in the schema, with its alias if it is written to."""
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise _Unsupported("We do not support positional-only args, varargs, or varkwargs.")
    if parameter.annotation is inspect.Parameter.empty:
        raise _Unsupported(f"Parameter {name} must have a type annotation.")
    word = _word(kind)
    if word is None:
        raise _Unsupported(f"Parameter {name} has unsupported type {parameter.annotation}.")
    holds_tensors = word.startswith("Tensor")
    if written is not None and name in written and not holds_tensors:
        raise _Unsupported(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
    is_written = holds_tensors if written is None else name in written
    return word.replace("Tensor", f"Tensor(a{position}!)", 1) if is_written else word


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return ""
    if value is not None and not isinstance(value, (int, float, bool, str, dtype)):
        raise _Unsupported(f"Parameter {parameter.name} has an unsupported default value type {type(value)}.")
    return f'="{value}"' if isinstance(value, str) else f"={str(value).removeprefix('torch.')}"
