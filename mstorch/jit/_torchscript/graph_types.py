"""Types of the values of a graph: of Python's values, of an operator's results by its schema, and as the graph's own types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..._src.aten.overloads import all_overloads
from ..._src.core.device import device
from ..._src.core.schemas import Schema
from ..._tensor import Tensor
from .._graph import Type as GraphType
from .types import ANY, TENSOR, Type, class_name, listed, part_of_dict

INT, FLOAT, BOOL, STR, NONE, NUMBER = (Type(name) for name in ("int", "float", "bool", "str", "NoneType", "number"))
_KINDS = {
    "Tensor": "TensorType", "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "complex": "ComplexType",
    "number": "NumberType", "NoneType": "NoneType", "Device": "DeviceObjType", "Any": "AnyType", "List": "ListType", "Dict": "DictType",
    "Tuple": "TupleType", "Optional": "OptionalType", "Union": "UnionType", "Future": "FutureType", "Function": "FunctionType",
    "Await": "AwaitType", "RRef": "RRefType",
}  # fmt: skip
_OF_CLASSES = {"NamedTuple": "TupleType", "Enum": "EnumType", "Interface": "InterfaceType", "ModuleInterface": "InterfaceType"}
_NUMBERS = ("int", "float", "complex", "bool", "number")
_AS_INT = ("ScalarType", "Layout", "MemoryFormat", "SymInt")
_ALIAS = re.compile(r"\([a-z*!|> -]*\)")
_LISTED = re.compile(r"(.*)\[\d*\]")
_VARIABLE = re.compile(r"t(\d*|Val)")  # a type that is the same in all places of a schema
_IMPLICIT = {"int": "IntImplicit", "SymInt": "IntImplicit", "float": "FloatImplicit", "Scalar": "ScalarImplicit"}


def graph_type(kind: Type, class_kind: Callable[[str], str]) -> GraphType:
    """Return a type as graphs have it. ``class_kind`` tells the kind of a class of the archive."""
    element = graph_type(kind.of[0], class_kind) if kind.kind in ("List", "Optional", "Future") and kind.of else None
    word = _KINDS.get(kind.kind) or _OF_CLASSES.get(class_kind(kind.kind), "ClassType")
    return GraphType(repr(kind), word, element=element, text=kind.shown)


def type_of(value: Any) -> Type:
    """Return the type of a constant."""
    if isinstance(value, Tensor):
        return TENSOR
    if value is None:
        return NONE
    if type(value) in (bool, int, float, str, complex):
        return Type(type(value).__name__)
    if isinstance(value, device):
        return Type("Device")
    if class_name(value) is not None:
        return Type(str(class_name(value)))
    if isinstance(value, tuple):
        return Type("Tuple", tuple(map(type_of, value)))
    if isinstance(value, list):
        return listed(type_of(value[0]) if value else TENSOR)
    if isinstance(value, dict):
        key, item = next(iter(value.items()), ("", None))
        return Type("Dict", (type_of(key), TENSOR if item is None else type_of(item)))
    return ANY


class Match:
    """An overload that takes the arguments of a call: its schema, and what its type variables stand for."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._bound: dict[str, Type] = {}
        self.implicit: dict[int, str] = {}  # conversions of tensors to numbers, by the argument's place

    def fits(self, kind: Type, text: str, place: int, loosely: bool) -> bool:
        """Return whether an argument of a type is valid for a schema's type. ``loosely``: a tensor is, for a number."""
        if text.endswith("?"):
            return kind.kind == "NoneType" or self.fits(kind.of[0] if kind.kind == "Optional" else kind, text[:-1], place, loosely)
        inner = _LISTED.fullmatch(text)
        if inner is not None:
            return self._fits_list(kind, inner[1], loosely)
        if loosely and place >= 0 and kind.kind == "Tensor" and text in _IMPLICIT:
            self.implicit[place] = _IMPLICIT[text]
            return True
        if loosely and text == "float" and kind.kind in ("int", "number"):
            return True
        if _VARIABLE.fullmatch(text):
            return self._bound.setdefault(text, kind).kind == kind.kind
        if text in _AS_INT:
            return kind.kind == "int"
        if text == "Scalar":
            return kind.kind in _NUMBERS
        return kind.kind == "Dict" if text.startswith("Dict") else text in ("Any", kind.kind) or kind.kind == "Any"

    def _fits_list(self, kind: Type, of: str, loosely: bool) -> bool:
        if kind.kind == "List":
            return self.fits(kind.of[0], of, -1, False) or kind.of[0].kind == "NoneType" and of.endswith("?")
        return kind.kind == "Tuple" and loosely and all(self.fits(one, of, -1, False) for one in kind.of)

    def results(self, first: Type | None) -> list[Type]:
        """Return the types of the results. ``first`` is the type of the first argument, which a dict's methods give parts of."""
        name = self.schema.name
        if first is not None and first.kind == "Dict" and len(first.of) == 2:
            part = first.of[1] if name == "__getitem__" else part_of_dict(first, name, len(self.schema.arguments) == 3)
            if part is not None:
                return [part]
        if self.schema.returns == "()":
            return []
        text = _ALIAS.sub("", self.schema.returns)
        if not text.startswith("("):
            return [self._read(text)]
        return [self._read(one.strip().split(" ")[0]) for one in text[1:-1].split(",") if one.strip()]

    def _read(self, text: str) -> Type:
        if text.endswith("?"):
            return Type("Optional", (self._read(text[:-1]),))
        inner = _LISTED.fullmatch(text)
        if inner is not None:
            return listed(self._read(inner[1]))
        if text in self._bound:
            return self._bound[text]
        return INT if text in _AS_INT else NUMBER if text == "Scalar" else Type(text)


def matched(name: str, args: Sequence[Type], kwargs: dict[str, Type]) -> Match | None:
    """Return the first overload of an operator of ``aten`` that takes arguments of these types; None if there is none."""
    try:
        overloads = [schema for schema, _ in all_overloads(name).values()]
    except RuntimeError:
        return None
    for loosely in (False, True):
        for schema in overloads:
            match = Match(schema)
            if _takes(match, args, kwargs, loosely):
                return match
    return None


def _takes(match: Match, args: Sequence[Type], kwargs: dict[str, Type], loosely: bool) -> bool:
    rest, count = dict(kwargs), len(args)
    for place, one in enumerate(match.schema.arguments):
        if place < count:
            if one.kwarg_only or not match.fits(args[place], one.type, place, loosely):
                return False
        elif one.name in rest:
            if not match.fits(rest.pop(one.name), one.type, place, loosely):
                return False
        elif not one.has_default:
            return False
    return not rest and count <= len(match.schema.arguments)
