"""Operator schemas such as ``name(Tensor x, int n=1, *, float? s=None) -> Tensor``, read from text."""
from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .dtype import dtype
from .dtype_numbers import by_number, number_of
from .tensor_base import TensorBase

_EVERY = Path(__file__).parents[2] / "_library" / "schemas.txt"


class Argument(NamedTuple):
    """Parameter of an operator."""

    name: str
    type: str
    default: Any
    has_default: bool
    kwarg_only: bool
    alias: str  # such as "(a!)": the memory that it shares with a result, and whether it is written to

    @property
    def is_write(self) -> bool:
        """True if the operator writes to the argument."""
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
                continue
            value = values[argument.name]
            if isinstance(value, dtype) and argument.type.rstrip("?") == "int":
                value = values[argument.name] = number_of(value)
            elif type(value) is int and argument.type.rstrip("?") == "ScalarType":
                value = values[argument.name] = by_number(value)
            if not _fits(value, argument.type):
                value = values[argument.name] = _as(value, argument.type)
            if not _fits(value, argument.type):
                raise RuntimeError(
                    f"{name}() Expected a value of type '{argument.type.replace('SymInt', 'int')}' for argument '{argument.name}' but "
                    f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\nDeclaration: {self}"
                )
        positional = tuple(values[argument.name] for argument in free)
        return positional, {argument.name: values[argument.name] for argument in self.arguments if argument.kwarg_only}


_NUMBERS = (int, float, complex, bool)
# The types of values that a parameter of a schema's type accepts; a tensor of one element is accepted as a number.
_PYTHON: dict[str, Any] = {
    "Tensor": TensorBase, "int": (int, TensorBase), "SymInt": (int, TensorBase), "float": (int, float, TensorBase),
    "bool": (bool, TensorBase), "str": str, "Scalar": (*_NUMBERS, TensorBase),
}  # fmt: skip


def _fits(value: Any, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(value, kind[:-1])
    listed = re.fullmatch(r"(.*)\[\d*\]", kind)
    if listed:
        return isinstance(value, (list, tuple)) and all(_fits(item, listed[1]) for item in value)
    return kind not in _PYTHON or isinstance(value, _PYTHON[kind])


def _as(value: Any, kind: str) -> Any:
    """Return a number as Python's type for a parameter, and an array's or list's numbers as a list of such; others as they are."""
    kind = kind.rstrip("?")
    listed = re.fullmatch(r"(int|SymInt|float|bool)\[\d*\]", kind)
    if listed and (isinstance(value, (list, tuple)) or isinstance(value, np.ndarray) and value.ndim == 1):
        return [_as(item, listed[1]) for item in value]
    if kind in ("int", "SymInt") and (isinstance(value, np.number) and not np.iscomplexobj(value) or hasattr(type(value), "__index__")):
        return int(value)
    if kind == "float" and hasattr(type(value), "__float__") and not isinstance(value, np.complexfloating):
        return float(value)
    if kind == "bool" and isinstance(value, (int, np.bool_)):
        return bool(value)
    return value


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
        if part == "...":  # any further arguments
            continue
        found = re.fullmatch(r"([\w.]+)(\([^)]*\)|!)?((?:\[\d*\])?\??(?:\[\d*\])?\??)(\([^)]*\))?\s+(\w+)(?:\s*=\s*(.+))?", part)
        if found is None:
            raise RuntimeError(f"mstorch: no parameter of an operator schema: {part!r}")
        default = None if found[6] is None else _value(found[6])
        alias = found[4] if found[4] or found[1] == "Dict" else found[2]
        arguments.append(Argument(found[5], found[1] + found[3], default, found[6] is not None, kwarg_only, alias or ""))
    return Schema(namespace, name, overload, tuple(arguments), match[3], text.strip())


@functools.cache
def lines(page: Path = _EVERY) -> dict[str, list[str]]:
    """Return the lines of a text of schemas by operator: by default those of all of torch, which end with ``|`` and the numbers of tags."""
    found: dict[str, list[str]] = {}
    for line in page.read_text("utf-8").splitlines():
        found.setdefault(line.partition("(")[0].partition(".")[0], []).append(line)
    return found
