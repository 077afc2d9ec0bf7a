"""Bind a public call to an ATen overload and its arguments."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..core import call_forms
from ..core.device import default, device
from ..core.dtype import dtype
from ..core.formats import layout, memory_format
from ..core.generator import Generator
from ..core.schemas import Argument, Schema
from ..core.second_names import ALIASES, operation_of
from ..core.tensor_base import TensorBase
from .overloads import all_overloads, overloads

# Public names whose operator has another name.
_NAMES = {name: operation_of(name) for name in (
    *ALIASES, "__and__", "__or__", "__xor__", "__invert__", "__floordiv__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
)}  # fmt: skip
# Python numbers in parameters for tensors are converted to tensors for these.
NUMBERS_AS_TENSORS = call_forms.NUMBERS_AS_TENSORS | {"floor_divide", "rsub_"}
_WORDS = {"input": "self", "axis": "dim", "keepdims": "keepdim"}
_SILENT = frozenset(("requires_grad", "out", "layout", "pin_memory", "names"))


class Bound:
    """Bound call of an overload: operator name, overload, positional values without trailing defaults, and keywords."""

    __slots__ = ("schema", "args", "kwargs")

    def __init__(self, schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.schema, self.args, self.kwargs = schema, args, kwargs


@functools.cache
def _is_varied(name: str) -> bool:
    """Return whether a function's only argument is a list of ints that may also be passed as separate arguments (``view(2, 3)``), and no
    overload takes a single int."""
    schemas = (*overloads(name), *_compositions(name))
    forms = [[one for one in schema.arguments if not one.kwarg_only and one.name != "self"] for schema in schemas]
    of_number = any(form and form[0].type.rstrip("?") in ("SymInt", "int") for form in forms)
    return not of_number and any(len(form) == 1 and form[0].type in ("SymInt[]", "int[]") and not form[0].has_default for form in forms)


def bind(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], compositions: bool = False) -> Bound | None:
    """Return the overload that a call of a public name binds to, or None; with ``compositions``, composite overloads are considered too."""
    in_place = name.endswith("_") and not name.endswith("__")
    plain = name[:-1] if in_place else name
    own = _NAMES.get(plain, plain) + ("_" if in_place else "")
    given = {_WORDS.get(key, key): v for key, v in kwargs.items() if key != "requires_grad" and not (key in _SILENT and not v)}
    if args and _is_varied(own):
        if all(type(value) is int for value in args):
            args = (args,)
        elif len(args) > 1 and isinstance(args[0], TensorBase) and not isinstance(args[1], (tuple, list)):
            args = (args[0], args[1:])
    for loosely in (False, True):
        for schema in _compositions(own) if compositions else overloads(own):
            found = _fitted(schema, own, args, given, loosely)
            if found is not None:
                return found
    return None


def _compositions(name: str) -> list[Schema]:
    return [schema for schema, _ in all_overloads(name).values() if not _outs(schema) and _is_of_tensors(schema)]


def _outs(schema: Schema) -> list[str]:
    return [argument.name for argument in schema.arguments if argument.kwarg_only and argument.is_write]


def _is_of_tensors(schema: Schema) -> bool:
    return any(argument.type.startswith("Tensor") for argument in schema.arguments) and "Dimname" not in schema.text


def bind_out(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound | None:
    """Return the overload that a call with ``out=`` binds to, or None."""
    own = _NAMES.get(name, name)
    target = kwargs["out"]
    targets = list(target) if isinstance(target, (tuple, list)) else [target]
    given = {_WORDS.get(key, key): v for key, v in kwargs.items() if key != "out" and not (key in _SILENT and not v)}
    for loosely in (False, True):
        for schema, _ in all_overloads(own).values():
            names = _outs(schema)
            if len(names) == len(targets) and _is_of_tensors(schema):
                found = _fitted(schema, own, args, {**given, **dict(zip(names, targets))}, loosely)
                if found is not None:
                    return found
    return None


def _fitted(schema: Schema, name: str, args: tuple[Any, ...], given: dict[str, Any], loosely: bool) -> Bound | None:
    free = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(free):
        return None
    values = dict(zip((argument.name for argument in free), args))
    known = {argument.name: argument for argument in schema.arguments}
    for key, value in given.items():
        key = key if key in known else _renamed(key, known)
        if key not in known or key in values:
            return None
        values[key] = value
    for argument in schema.arguments:
        if argument.name not in values:
            if not argument.has_default:
                return None
        else:
            fitted = value_for(argument, values[argument.name], loosely or name.rstrip("_") in NUMBERS_AS_TENSORS)
            if fitted is _NO:
                return None
            values[argument.name] = fitted
    return trimmed(schema, name, values)


def _renamed(key: str, known: dict[str, Argument]) -> str:
    return {"other": "exponent", "tensor": "self", "tensors": "tensors", "size": "shape"}.get(key, key) if key not in known else key


def trimmed(schema: Schema, name: str, values: dict[str, Any]) -> Bound:
    """Return a call of an operator with these values, in the form in which torch passes calls to handlers: without trailing defaults."""
    free = [argument for argument in schema.arguments if not argument.kwarg_only]
    while free and free[-1].has_default and (free[-1].name not in values or _same(values[free[-1].name], free[-1].default)):
        free.pop()
    positional = tuple(values.get(argument.name, argument.default) for argument in free)
    named = {
        argument.name: values[argument.name]
        for argument in schema.arguments
        if argument.kwarg_only and argument.name in values and not _same(values[argument.name], argument.default)
    }
    taken = {argument.name for argument in schema.arguments}
    if "pin_memory" in taken and ("self" not in taken or name.endswith("_like")):  # factories
        if "self" not in taken:
            named.setdefault("device", default())
        named["pin_memory"] = False
    return Bound(schema, positional, named)


def without_defaults(schema: Schema, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return positional arguments without those at the end that are their defaults."""
    while args and (argument := schema.arguments[len(args) - 1]).has_default and _same(args[-1], argument.default):
        args = args[:-1]
    return args


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list) and isinstance(default, int):
        return all(item == default for item in value)
    return type(value) is type(default) and value == default


_NO = object()
_INTEGERS = ("int", "SymInt")
_KINDS: dict[str, Any] = {
    "ScalarType": dtype, "Layout": layout, "Device": (device, str), "MemoryFormat": memory_format, "Generator": Generator, "str": str,
    "bool": bool, "Scalar": (int, float, complex, bool),
}  # fmt: skip


def value_for(argument: Argument, value: Any, loosely: bool) -> Any:
    """Convert a value to the type of an overload's argument; return ``_NO`` if it does not fit. ``loosely``: a number is accepted for a
    tensor."""
    kind = argument.type
    if kind.endswith("?"):
        if value is None:
            return None
        kind = kind[:-1]
    if kind == "Tensor":
        takes = isinstance(value, TensorBase) or loosely and isinstance(value, (int, float, complex))
        return value if takes else _NO
    if kind.endswith("]"):
        inner, _, count = kind[:-1].rpartition("[")
        return _list(inner, count, value)
    if kind in _INTEGERS:
        return value if isinstance(value, int) and not isinstance(value, bool) or hasattr(value, "__index__") and not isinstance(
            value, (bool, TensorBase)) else _NO  # fmt: skip
    if kind == "Device" and isinstance(value, str):
        return device(value)
    if kind == "float":
        return _NO if isinstance(value, bool) or not isinstance(value, (int, float)) else float(value)
    wanted = _KINDS.get(kind)
    return value if wanted is None or isinstance(value, wanted) else _NO


def _list(inner: str, count: str, value: Any) -> Any:
    if inner in _INTEGERS and isinstance(value, int) and not isinstance(value, bool):
        return [value] * int(count) if count else _NO
    if not isinstance(value, (tuple, list)):
        return _NO
    parts: Sequence[Any] = [value_for(Argument("", inner, None, False, False, ""), item, False) for item in value]
    if any(part is _NO for part in parts):
        return _NO
    if inner in _INTEGERS and count and count != "1" and len(parts) == 1:
        return list(parts) * int(count)
    return list(parts)
