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

    def wrong(text: str) -> ValueError:
        return ValueError(f"infer_schema(func): {text} Got func with signature {signature})")

    kinds = {name: p.annotation for name, p in signature.parameters.items()}
    if any(isinstance(kind, str) for kind in (*kinds.values(), signature.return_annotation)):
        try:
            kinds = typing.get_type_hints(prototype_function)
        except NameError as error:
            raise wrong(f"Unsupported type annotation: {error}.") from error
    written = None if mutates_args == "unknown" else set(mutates_args)
    parts: list[str] = []
    starred = False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is inspect.Parameter.empty:
            raise wrong(f"Parameter {name} must have a type annotation.")
        word = _word(kinds[name])
        if word is None:
            raise wrong(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if (written is None and word.startswith("Tensor")) or (written is not None and name in written):
            if not word.startswith("Tensor"):
                raise wrong(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            word = word.replace("Tensor", f"Tensor(a{position}!)", 1)
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = ""
        if parameter.default is not inspect.Parameter.empty:
            value = parameter.default
            if value is not None and not isinstance(value, (int, float, bool, str, dtype)):
                raise wrong(f"Parameter {name} has an unsupported default value type {type(value)}.")
            default = f'="{value}"' if isinstance(value, str) else f"={str(value).removeprefix('torch.')}"
        parts.append(f"{word} {name}{default}")
    unknown = (written or set()) - set(signature.parameters)
    if unknown:
        raise wrong(f"{unknown} in mutates_args were not found in the custom op's signature.")
    result = signature.return_annotation
    if result is inspect.Signature.empty:
        raise wrong("No return type annotation was provided. Please add one.")
    returned = _returned(kinds.get("return", result))
    if returned is None:
        raise wrong(f"Return has unsupported type {result}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"
