"""Types in TorchScript's text, as checks and conversions of Python's values."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any, TypeGuard

from ..._src.backend.errors import TYPE_NAMES
from ..._src.core.device import device
from ..._tensor import Tensor
from ...futures import Future


class Damaged(RuntimeError):
    """Raised for an archive whose text is no TorchScript."""


class Type:
    """A type: its kind ("Tensor", "List", a class's full name), and the types that it is made of."""

    __slots__ = ("kind", "of")

    def __init__(self, kind: str, of: tuple[Type, ...] = ()) -> None:
        self.kind, self.of = kind, of

    def __repr__(self) -> str:
        if self.kind == "Tuple" and not self.of:
            return "Tuple[()]"
        return f"{self.kind}[{', '.join(map(repr, self.of))}]" if self.of else self.kind

    @property
    def shown(self) -> str:
        """The text in a schema: ``Tensor?``, ``int[]``, ``Dict(str, Tensor)``."""
        of = [one.shown for one in self.of]
        if self.kind in ("Optional", "List"):
            return of[0] + ("?" if self.kind == "Optional" else "[]")
        if self.kind == "Tuple":
            return f"({', '.join(of)})"
        return f"{self.kind}({', '.join(of)})" if of else self.kind

    def __deepcopy__(self, memo: Any) -> Type:
        return self


ANY, TENSOR = Type("Any"), Type("Tensor")


def is_kind(kind: Type | None, *names: str) -> TypeGuard[Type]:
    """Return whether a type is known, and of one of the kinds."""
    return kind is not None and kind.kind in names
_GENERIC = {"Optional": 1, "List": 1, "Future": 1, "Await": 1, "RRef": 1, "Final": 1, "Dict": 2, "Tuple": None, "Union": None}
# Words that older archives write for the same types.
_WORDS = {"None": "NoneType", "Scalar": "number"}


def dotted(node: ast.expr) -> str:
    """Return the text of a dotted name. Raise Damaged for another expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise Damaged(f"Expected a dotted name, but found {type(node).__name__}")
    return ".".join([node.id, *reversed(parts)])


def read_type(node: ast.expr) -> Type:
    """Return the type that an annotation writes. Raise Damaged for text that is no type."""
    if isinstance(node, ast.Constant) and node.value is None:
        return Type("NoneType")
    if not isinstance(node, ast.Subscript):
        name = dotted(node)
        return Type(_WORDS.get(name, name))
    name = dotted(node.value)
    if name not in _GENERIC:
        raise Damaged(f"Unknown type constructor {name}")
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    of = tuple(map(read_type, items))
    if _GENERIC[name] not in (None, len(of)):
        raise Damaged(f"{name} takes {_GENERIC[name]} types, but {len(of)} are there")
    return of[0] if name == "Final" else Type(name, of)


def parse_type(text: str) -> Type:
    """Return the type of a text, as pickles have it."""
    try:
        return read_type(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Damaged(f"Expected a type, but found {text[:80]!r} ({type(error).__name__})") from None


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "Any": lambda value: True,
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) is float,
    "complex": lambda value: type(value) is complex,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "number": lambda value: type(value) in (int, float, complex, bool),
    "NoneType": lambda value: value is None,
    "Device": lambda value: isinstance(value, device),
    "list": lambda value: type(value) is list,
    "tuple": lambda value: isinstance(value, tuple),
}
_NUMBERS = {"int": int, "float": float, "complex": complex}


def class_name(value: Any) -> str | None:
    """Return the full TorchScript name of a value's class; None for values of built-in types."""
    definition = getattr(value if not isinstance(value, (tuple, enum.Enum)) else type(value), "_ms_definition", None)
    return None if definition is None else definition.name


def is_of(value: Any, kind: Type) -> bool:
    """Return whether a value is of a type; an empty list or dict is of every list or dict type."""
    name, of = kind.kind, kind.of
    check = _PLAIN.get(name)
    if check is not None:
        return check(value)
    if name == "Optional":
        return value is None or is_of(value, of[0])
    if name == "Union":
        return any(is_of(value, one) for one in of)
    if name == "List":
        return type(value) is list and all(is_of(item, of[0]) for item in value)
    if name == "Dict":
        return type(value) is dict and all(is_of(key, of[0]) and is_of(item, of[1]) for key, item in value.items())
    if name == "Tuple":
        return isinstance(value, tuple) and len(value) == len(of) and all(map(is_of, value, of))
    if name in ("Future", "Await"):
        return isinstance(value, Future)
    return class_name(value) == name or name not in _NUMBERS and class_name(value) is not None and "." in name


def cast(value: Any, kind: Type) -> Any:
    """Return the value as ``annotate`` gives it: a tensor of one element as a number, if the type is one."""
    if isinstance(value, Tensor):
        name = kind.of[0].kind if kind.kind == "Optional" else kind.kind
        if name in _NUMBERS:
            if value.requires_grad:
                raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
            if value.dim():
                raise RuntimeError("Cannot input a tensor of dimension other than 0 as a scalar argument")
            if name == "int" and value.dtype.category != 1:
                kind_of = TYPE_NAMES[str(value.dtype).removeprefix("torch.")]
                raise RuntimeError(f"Cannot input a tensor of type {kind_of} as an integral argument")
            return _NUMBERS[name](value.item())
    return value


class Unfit(Exception):
    """Raised for an argument that is not of the declared type."""


_NARROWER = {"float": (int, bool), "int": (bool,), "complex": (int, float)}
"""By the name of a type of numbers: the classes of Python's numbers that become one of it."""


def convert(value: Any, kind: Type) -> Any:
    """Return an argument that Python gives, as a value of the declared type. Raise Unfit for one that is of another type."""
    name = kind.kind
    if name == "Optional":
        return None if value is None else convert(value, kind.of[0])
    if name in _NUMBERS:
        number = _NUMBERS[name]
        if type(value) in _NARROWER[name]:
            return number(value)
        if number is not complex and isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad:
            return number(value.item())
    if isinstance(value, (list, tuple, dict)):
        items = _items_of_kind(value, kind)
        if items is not None:
            return items
    if name == "Device" and isinstance(value, str):
        return device(value)
    if isinstance(value, tuple) and "." in name and class_name(value) is None:
        return value  # a NamedTuple of Python's, whose fields the code reads by place
    if not is_of(value, kind):
        raise Unfit
    return value


def _items_of_kind(value: list[Any] | tuple[Any, ...] | dict[Any, Any], kind: Type) -> Any:
    """Return a container with its items converted to those of the declared one; None if the declared one is of another kind."""
    name, of = kind.kind, kind.of
    if isinstance(value, dict):
        return {convert(key, of[0]): convert(item, of[1]) for key, item in value.items()} if name == "Dict" else None
    if name == "List":
        return [convert(item, of[0]) for item in value]
    return tuple(map(convert, value, of)) if name == "Tuple" and len(value) == len(of) else None


def described(value: Any) -> str:
    """Return the name of a value's type, as torch's errors have it."""
    return "Tensor" if isinstance(value, Tensor) else class_name(value) or type(value).__name__


def listed(of: Type) -> Type:
    """Return the type of a list."""
    return Type("List", (of,))


def part_of_dict(holder: Type, method: str, with_default: bool) -> Type | None:
    """Return the type that a dict's method gives; None for a method that gives nothing, or that dicts do not have."""
    key, item = holder.of
    if method in ("pop", "setdefault", "get"):
        return Type("Optional", (item,)) if method == "get" and not with_default else item
    pair = Type("Tuple", (key, item))
    lists = {"keys": key, "values": item, "items": pair}
    return listed(lists[method]) if method in lists else {"popitem": pair, "copy": holder}.get(method)
