"""Pieces of a program's text: expressions with what is known of their values before the program runs."""

from __future__ import annotations

import json
import keyword
from typing import Any

from ....nn.modules.module import Module
from ..types import Type


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()
"""The static value of a piece that has none."""


class Items(list["Piece"]):
    """A sequence whose elements are known while the program is written: the modules of a list."""


class Piece:
    """An expression: its text, its type (None if unknown), and its value, if that is known while the program is written."""

    __slots__ = ("kind", "static", "text")

    def __init__(self, text: str, kind: Type | None = None, static: Any = NOTHING) -> None:
        self.text, self.kind, self.static = text, kind, static

    @property
    def is_static(self) -> bool:
        """Return whether the value is known."""
        return self.static is not NOTHING


def implied(value: Piece, wanted: Type | None) -> Piece:
    """Return a value as TorchScript converts it unasked where a float, an int or a complex number is wanted: numbers of any type, and
    tensors of one element."""
    inner = wanted.of[0] if wanted is not None and wanted.kind == "Optional" else wanted
    if inner is None or value.kind is None or inner.kind not in ("float", "int", "complex") or value.kind.kind not in ("number", "Tensor"):
        return value
    number = value.kind.kind == "number"
    return Piece(f"{inner.kind}({value.text})" if number else f"annotate({inner!r}, {value.text})", inner)


class Method:
    """A method of a module or object, as a value."""

    def __init__(self, owner: Any, name: str, text: str) -> None:
        self.owner, self.name, self.text = owner, name, text


def plain_of(module: Any) -> Any:
    """Return the module of Python's class behind a scripted one; another value as it is."""
    return module.__dict__.get("_python", module) if isinstance(module, Module) else module


class ParentOf:
    """The value of ``super()``: the classes after one of a module's classes."""

    def __init__(self, owner: Any, kind: type) -> None:
        self.owner, self.kind = owner, kind


def of_library(value: Any) -> bool:
    """Return whether a class or function is one of mstorch's own, under whichever name."""
    space = getattr(value, "__globals__", None)
    module = str(space.get("__name__") if space is not None else getattr(value, "__module__", ""))
    return module.partition(".")[0] in ("mstorch", "torch")


class Poison:
    """A name that has no single value here, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def is_identifier(name: str) -> bool:
    """Return whether a name can stand in the text as it is."""
    return name.isidentifier() and not keyword.iskeyword(name) and name.isascii()


def attribute(owner: str, name: str) -> str:
    """Return the text of an attribute of an object."""
    return f"{owner}.{name}" if is_identifier(name) else f"getattr({owner}, {json.dumps(name)})"
