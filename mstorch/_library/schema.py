"""Operator schemas such as ``name(Tensor x, int n=1, *, float? s=None) -> Tensor``, from text or annotations."""
from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .._core.device import device
from .._core.dtype import dtype
from .._tensor import Tensor


class Argument(NamedTuple):
    """Parameter of an operator."""

    name: str
    type: str
    default: Any
    has_default: bool
    kwarg_only: bool
    alias: str  # "(a!)": which memory it shares with a result, and whether it is written to

    @property
    def is_write(self) -> bool:
        """Whether the argument is written to."""
        return "!" in self.alias


class Schema(NamedTuple):
    """Name, overload, parameters and returns of an operator."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: str
    text: str

    def __str__(self) -> str:
        return f"{self.namespace}::{self.text}"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bind a call: return the positional and keyword-only values of all parameters. Raise RuntimeError if the call does not match."""
        name = f"{self.namespace}::{self.name}"
        free = [argument for argument in self.arguments if not argument.kwarg_only]
        if len(args) > len(free):
            raise RuntimeError(
                f"{name}() expected at most {len(free)} argument(s) but received {len(args)} argument(s). Declaration: {self}"
            )
        values = dict(zip((argument.name for argument in free), args))
        for key, value in kwargs.items():
            if key in values or key not in {argument.name for argument in self.arguments}:
                raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {self}")
            values[key] = value
        for position, argument in enumerate(self.arguments):
            if argument.name not in values:
                if not argument.has_default:
                    raise RuntimeError(f"{name}() is missing value for argument '{argument.name}'. Declaration: {self}")
                values[argument.name] = argument.default
            elif not _fits(values[argument.name], argument.type):
                value = values[argument.name]
                raise RuntimeError(
                    f"{name}() Expected a value of type '{argument.type.replace('SymInt', 'int')}' for argument '{argument.name}' but "
                    f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\nDeclaration: {self}"
                )
        positional = tuple(values[argument.name] for argument in free)
        return positional, {argument.name: values[argument.name] for argument in self.arguments if argument.kwarg_only}


_NUMBERS = (int, float, complex, bool)
# What a parameter takes; a tensor of one element does for a number.
_PYTHON: dict[str, Any] = {
    "Tensor": Tensor, "int": (int, Tensor), "SymInt": (int, Tensor), "float": (int, float, Tensor), "bool": (bool, Tensor), "str": str,
    "Scalar": (*_NUMBERS, Tensor),
}  # fmt: skip


def _fits(value: Any, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(value, kind[:-1])
    listed = re.fullmatch(r"(.*)\[\d*\]", kind)
    if listed:
        return isinstance(value, (list, tuple)) and all(_fits(item, listed[1]) for item in value)
    return kind not in _PYTHON or isinstance(value, _PYTHON[kind])


def split(text: str) -> list[str]:
    """Split text at commas outside of brackets."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    return [*parts, part.strip()] if part.strip() else parts


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse(namespace: str, text: str) -> Schema:
    """Parse a schema. Raise RuntimeError if it is invalid."""
    match = re.fullmatch(r"\s*([\w.:]+)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise RuntimeError(f"mstorch: no operator schema: {text!r}")
    name, _, overload = match[1].rpartition("::")[2].partition(".")
    arguments, kwarg_only = [], False
    for part in split(match[2]):
        if part == "*":
            kwarg_only = True
            continue
        if part == "...":  # whatever is given besides
            continue
        found = re.fullmatch(r"([\w.]+)(\([^)]*\)|!)?((?:\[\d*\])?\??(?:\[\d*\])?\??)(\([^)]*\))?\s+(\w+)(?:\s*=\s*(.+))?", part)
        if found is None:
            raise RuntimeError(f"mstorch: no parameter of an operator schema: {part!r}")
        default = None if found[6] is None else _value(found[6])
        alias = found[4] if found[4] or found[1] == "Dict" else found[2]
        arguments.append(Argument(found[5], found[1] + found[3], default, found[6] is not None, kwarg_only, alias or ""))
    return Schema(namespace, name, overload, tuple(arguments), match[3], text.strip())


# From annotations

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
